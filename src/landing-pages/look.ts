import { registeredDomain } from '../platform/lib/domains.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { fillUrl, parseUrlTemplate } from '../platform/lib/url-template.ts';
import { hostOf } from '../webhooks/address-guard.ts';
import type { Sender } from '../webhooks/sender.ts';

/** Maximum number of redirects in a check. */
const maxRedirects = 10;
/** Timeout of a whole check, in milliseconds. */
export const lookMs = 30_000;

/** Result of a check. `host` is the last host that was called. */
export type Look = {
  /** null without a response. */
  status: number | null;
  redirects: number;
  host: string;
  /**
   * Reason why the page itself did not respond: the class of the failure, `blocked`, or `redirects`; null if it did.
   */
  problem: string | null;
};

/**
 * Start URL of a check: the stored URL with its macros filled, so that advertisers can distinguish checks from users.
 */
export function urlToLookAt(landingUrl: string, ids: Readonly<Record<string, number>>): URL | null {
  const template = parseUrlTemplate(landingUrl);
  return template && fillUrl(template, (name) => String(ids[name] ?? 'perkwire-check'));
}

type Looker = {
  sender: Sender;
  /** Timeout of each call, in milliseconds. */
  callMs: number;
  /** Monotonic time in milliseconds. */
  now: () => number;
};

/**
 * Checks a page as a browser would reach it: with HEAD, or GET if HEAD is refused, through redirects, each with a
 * vetted address like that of a webhook. Bodies are read only up to the sender's limit.
 */
export async function lookAt(start: URL, { sender, callMs, now }: Looker): Promise<Look> {
  const endMs = now() + lookMs;
  let url = start;
  for (let redirects = 0; ; redirects += 1) {
    const visited = { redirects, host: hostOf(url) };
    const answer = await ask(sender, url, () => Math.min(callMs, endMs - now()));
    if (answer.kind === 'blocked') return { ...visited, status: null, problem: 'blocked' };
    if (answer.kind === 'error') return { ...visited, status: null, problem: answer.class };
    const next = nextOf(url, answer);
    // Apps and app stores have their own URL schemes; a redirect to one counts as a working page.
    if (next === null || !/^https?:$/.test(next.protocol)) return { ...visited, status: answer.status, problem: null };
    if (redirects === maxRedirects) return { ...visited, status: answer.status, problem: 'redirects' };
    url = next;
  }
}

async function ask(sender: Sender, url: URL, leftMs: () => number) {
  const call = (method: 'HEAD' | 'GET') =>
    sender.send({
      url: url.href,
      method,
      body: null,
      deadlineMs: Math.max(1, leftMs()),
      headers: { accept: 'text/html,*/*;q=0.8' },
    });
  const answer = await call('HEAD');
  const isRefused = answer.kind === 'response' ? answer.status >= 400 : answer.kind === 'error' && isOdd(answer.class);
  return isRefused && leftMs() > 0 ? call('GET') : answer;
}

/** Failures of servers that don't support HEAD. */
const isOdd = (errorClass: string): boolean => ['reset', 'protocol', 'timeout'].includes(errorClass);

const nextOf = (
  url: URL,
  { status, headers: { location } }: { status: number; headers: Readonly<Record<string, string>> },
): URL | null => (status >= 300 && status < 400 && location !== undefined ? parseUrl(location, url.href) : null);

export const results = ['found', 'gone', 'moved', 'unreachable'] as const;
export type Result = (typeof results)[number];

/** Interprets a check. @param knownHost host of the previous check, or null */
export async function resultOf({ status, problem, host }: Look, knownHost: string | null): Promise<Result> {
  if (status === 404 || status === 410 || problem === 'dns') return 'gone';
  if (problem !== null || status === null || status >= 500) return 'unreachable';
  const isMoved = knownHost !== null && (await registeredDomain(knownHost)) !== (await registeredDomain(host));
  return isMoved ? 'moved' : 'found';
}
