import bowser from 'bowser';
import { LRUCache } from 'lru-cache';

/**
 * What a user agent tells. All names are lower case and of a bounded set, so that they can be targeted and reported by.
 */
export type UserAgent = {
  /** mobile, tablet, desktop, tv, bot or other. */
  device: string;
  os: string;
  browser: string;
  /** What the system is built for: ios, android, else web. */
  platform: Platform;
};

export type Platform = 'web' | 'ios' | 'android';

/** Answers kept (count). To read a user agent takes about 15 µs, to look it up 0.3 µs. */
const maxKept = 5_000;

/** Longer user agents are read by their beginning and not kept (characters). */
const maxLength = 512;

const nothing: UserAgent = { device: 'other', os: 'other', browser: 'other', platform: 'web' };

/** Reads user agents: device, operating system, browser and platform. */
export function createUserAgentReader(): (userAgent: string) => UserAgent {
  const kept = new LRUCache<string, UserAgent>({ max: maxKept });
  return (userAgent) => {
    if (userAgent === '') return nothing;
    if (userAgent.length > maxLength) return readUserAgent(userAgent.slice(0, maxLength));
    let known = kept.get(userAgent);
    if (known === undefined) {
      known = readUserAgent(userAgent);
      kept.set(userAgent, known);
    }
    return known;
  };
}

const devices = new Set(Object.values(bowser.PLATFORMS_MAP));
const systems: ReadonlyMap<string, string> = new Map(Object.values(bowser.OS_MAP).map((name) => [name, slug(name)]));
const browsers: ReadonlyMap<string, string> = new Map(
  Object.entries(bowser.BROWSER_MAP).map(([alias, name]) => [name, alias]),
);

/** What a system is built for. */
export const platformOf = (os: string): Platform => (os === 'ios' || os === 'android' ? os : 'web');

function readUserAgent(userAgent: string): UserAgent {
  const { platform, os, browser } = bowser.parse(userAgent);
  const system = systems.get(os.name ?? '') ?? 'other';
  return {
    device: platform.type !== undefined && devices.has(platform.type) ? platform.type : 'other',
    os: system,
    browser: browsers.get(browser.name ?? '') ?? 'other',
    platform: platformOf(system),
  };
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(' ', '_');
}
