import bowser from 'bowser';
import { LRUCache } from 'lru-cache';

/** Parsed user agent. All values are lower case and from a limited set, so that rules and reports can use them. */
export type UserAgent = {
  /** Device type: mobile, tablet, desktop, tv, bot or other. */
  device: string;
  os: string;
  browser: string;
  /** Platform: `ios` or `android` for those operating systems, or else `web`. */
  platform: Platform;
};

export type Platform = 'web' | 'ios' | 'android';

/** Maximum number of cached results. Parsing takes about 15 µs, and a cache hit 0.3 µs. */
const maxCached = 5_000;

/**
 * Maximum length of a user agent that is cached, in characters. If it is longer, only the beginning is parsed, and the
 * result is not cached.
 */
const maxLength = 512;

const unknown: UserAgent = { device: 'other', os: 'other', browser: 'other', platform: 'web' };

/** Creates a function that parses User-Agent headers and caches the results. */
export function createUserAgentReader(): (userAgent: string) => UserAgent {
  const cache = new LRUCache<string, UserAgent>({ max: maxCached });
  return (userAgent) => {
    if (userAgent === '') return unknown;
    if (userAgent.length > maxLength) return readUserAgent(userAgent.slice(0, maxLength));
    let result = cache.get(userAgent);
    if (result === undefined) {
      result = readUserAgent(userAgent);
      cache.set(userAgent, result);
    }
    return result;
  };
}

const devices = new Set(Object.values(bowser.PLATFORMS_MAP));
const systems: ReadonlyMap<string, string> = new Map(Object.values(bowser.OS_MAP).map((name) => [name, slug(name)]));
const browsers: ReadonlyMap<string, string> = new Map(
  Object.entries(bowser.BROWSER_MAP).map(([alias, name]) => [name, alias]),
);

/** Returns the platform for an operating system. */
export const platformOf = (os: string): Platform => (os === 'ios' || os === 'android' ? os : 'web');

function readUserAgent(userAgent: string): UserAgent {
  const { platform, os, browser } = bowser.parse(userAgent);
  const system = systems.get(os.name ?? '') ?? appSystem(userAgent);
  return {
    device: deviceOf(userAgent, platform.type, system),
    os: system,
    browser: browsers.get(browser.name ?? '') ?? 'other',
    platform: platformOf(system),
  };
}

function deviceOf(userAgent: string, type: string | undefined, system: string): string {
  if (isTelevision(userAgent)) return 'tv';
  if (type !== undefined && devices.has(type)) return type;
  if (system === 'macos') return 'desktop';
  return system === 'ios' || system === 'android' ? 'mobile' : 'other';
}

/** Names of TVs and set-top boxes, most of which the parser mistakes for tablets. */
const television = new RegExp(
  [
    'smart-?tv|android ?tv|google ?tv|apple ?tv|fire ?tv|philipstv|hbbtv|iptv|nettv|kreatv|tvos|gftv|gfiber|vidaa',
    'ce-html|inettvbrowser|netcast|netrange|web0s|opera tv|smarthub|bravia|vizio|roku|crkey|chromecast|mibox|tv ?box',
    'nexus player|shield android|bdplayer|freebox|[ _]shell[ _]|stbapp|\\b(?:ott|stb)\\b|\\bAFT[A-Z\\d]+|-led\\d\\d',
    '\\b(?:tx\\d|x96|h96|a95x|mxq|ugoos|zidoo|beelink|minix|tanix|vontar|transpeed|mecool|openbox|vinabox|redbox)',
  ].join('|'),
  'i',
);

/** Matches television terms that also occur in the model names of phones with a TV tuner. */
const televisionWord = /\bTV\b|_TV|TV_|\b(?:24|28|32|39|4[0239]|50|55|58|6[05]|7[05]|85)[A-Z]{2,}\d/;

const isTelevision = (userAgent: string): boolean =>
  television.test(userAgent) ||
  (televisionWord.test(userAgent) && (userAgent.includes('arm; Android') || !/\bMobile\b/.test(userAgent)));

/** Returns the operating system of an app that sends its HTTP library's default user agent. */
function appSystem(userAgent: string): string {
  if (/\b(?:iphone|ipad|ipod|ios)\b/i.test(userAgent)) return 'ios';
  if (/\b(?:android|okhttp|volley|dalvik)\b/i.test(userAgent)) return 'android';
  if (!/\b(?:cfnetwork|darwin)\//i.test(userAgent)) return 'other';
  // On a Mac, such user agents contain the processor or the model: "(x86_64)", "(MacBookPro10,2)".
  return /x86_64|arm64|\bmac/i.test(userAgent) ? 'macos' : 'ios';
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(' ', '_');
}
