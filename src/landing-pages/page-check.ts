import { registeredDomain } from '../platform/lib/domains.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { fillUrl, parseUrlTemplate } from '../platform/lib/url-template.ts';
import { hostOf } from '../webhooks/address-guard.ts';
import type { Sender } from '../webhooks/sender.ts';

/** Maximum number of redirects to follow per check. */
const maxRedirects = 10;
/** Timeout for a complete check, including redirects, in milliseconds. */
export const checkTimeoutMs = 30_000;

/** Result of a landing page check. `host` is the host of the last request. */
export type PageCheck = {
  /** HTTP status of the final response, or null if there was none. */
  status: number | null;
  redirects: number;
  host: string;
  /** Reason why no page was reached: an error class, `blocked`, or `redirects`. Null if the page responded. */
  problem: string | null;
};

/**
 * Returns the URL at which a check starts. Macros are filled with fixed values, so that advertisers can distinguish
 * checks from real users.
 */
export function checkStartUrl(landingUrl: string, ids: Readonly<Record<string, number>>): URL | null {
  const template = parseUrlTemplate(landingUrl);
  return template && fillUrl(template, (name) => String(ids[name] ?? 'perkwire-check'));
}

type CheckOptions = {
  sender: Sender;
  /** Timeout for each HTTP call, in milliseconds. */
  callMs: number;
  /** Returns a monotonic time in milliseconds. */
  now: () => number;
};

/**
 * Opens a page much like a browser: follows redirects, and sends HEAD requests, or GET if HEAD is rejected. As for
 * webhooks, the IP address is checked before each request. Response bodies are read only up to the sender's limit.
 */
export async function checkPage(start: URL, { sender, callMs, now }: CheckOptions): Promise<PageCheck> {
  const endMs = now() + checkTimeoutMs;
  let url = start;
  for (let redirects = 0; ; redirects += 1) {
    const visited = { redirects, host: hostOf(url) };
    const answer = await ask(sender, url, () => Math.min(callMs, endMs - now()));
    if (answer.kind === 'blocked') return { ...visited, status: null, problem: 'blocked' };
    if (answer.kind === 'error') return { ...visited, status: null, problem: answer.class };
    const next = nextOf(url, answer);
    // A redirect to a custom URL scheme opens an app or app store, so it counts as a working page.
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

/** Whether an error may be caused by a server that does not support HEAD. */
const isOdd = (errorClass: string): boolean => ['reset', 'protocol', 'timeout'].includes(errorClass);

const nextOf = (
  url: URL,
  { status, headers: { location } }: { status: number; headers: Readonly<Record<string, string>> },
): URL | null => (status >= 300 && status < 400 && location !== undefined ? parseUrl(location, url.href) : null);

export const results = ['found', 'gone', 'moved', 'unreachable'] as const;
export type Result = (typeof results)[number];

/**
 * Classifies the outcome of a check.
 * @param knownHost host on which the previous check ended, or null
 */
export async function resultOf({ status, problem, host }: PageCheck, knownHost: string | null): Promise<Result> {
  if (status === 404 || status === 410 || problem === 'dns') return 'gone';
  if (problem !== null || status === null || status >= 500) return 'unreachable';
  const isMoved = knownHost !== null && (await registeredDomain(knownHost)) !== (await registeredDomain(host));
  return isMoved ? 'moved' : 'found';
}
