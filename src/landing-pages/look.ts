import { registeredDomain } from '../platform/lib/domains.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { fillUrl, parseUrlTemplate } from '../platform/lib/url-template.ts';
import { hostOf } from '../webhooks/address-guard.ts';
import type { Sender } from '../webhooks/sender.ts';

/** Of one look (count). */
const maxRedirects = 10;
/** Of a whole look (milliseconds). */
export const lookMs = 30_000;

/** What a look at a page came to. `host` is the last one that was called. */
export type Look = {
  /** null: no answer. */
  status: number | null;
  redirects: number;
  host: string;
  /** Why there is no answer of the page itself: the class of the failure, `blocked`, or `redirects`; null: there is. */
  problem: string | null;
};

/** Where a look begins: the stored URL with its macros filled, so that advertisers can tell it from users. */
export function urlToLookAt(landingUrl: string, ids: Readonly<Record<string, number>>): URL | null {
  const template = parseUrlTemplate(landingUrl);
  return template && fillUrl(template, (name) => String(ids[name] ?? 'perkwire-check'));
}

type Looker = {
  sender: Sender;
  /** Limit of each call (milliseconds). */
  callMs: number;
  /** Milliseconds, never going back. */
  now: () => number;
};

/**
 * Looks at a page as a browser would reach it: HEAD, and GET where that is refused, through redirects, each address
 * vetted like that of a webhook. Bodies are not read beyond what the sender keeps.
 */
export async function lookAt(start: URL, { sender, callMs, now }: Looker): Promise<Look> {
  const endMs = now() + lookMs;
  let url = start;
  for (let redirects = 0; ; redirects += 1) {
    const found = { redirects, host: hostOf(url) };
    const answer = await ask(sender, url, () => Math.min(callMs, endMs - now()));
    if (answer.kind === 'blocked') return { ...found, status: null, problem: 'blocked' };
    if (answer.kind === 'error') return { ...found, status: null, problem: answer.class };
    const next = nextOf(url, answer);
    // Apps and their shops have schemes of their own: what leads there is a page that works.
    if (next === null || !/^https?:$/.test(next.protocol)) return { ...found, status: answer.status, problem: null };
    if (redirects === maxRedirects) return { ...found, status: answer.status, problem: 'redirects' };
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

/** Failures of servers that do not know HEAD. */
const isOdd = (errorClass: string): boolean => ['reset', 'protocol', 'timeout'].includes(errorClass);

const nextOf = (
  url: URL,
  { status, headers: { location } }: { status: number; headers: Readonly<Record<string, string>> },
): URL | null => (status >= 300 && status < 400 && location !== undefined ? parseUrl(location, url.href) : null);

export const results = ['found', 'gone', 'moved', 'unreachable'] as const;
export type Result = (typeof results)[number];

/** What a look says of the page. @param knownHost the host that it led to before; null: none */
export async function resultOf({ status, problem, host }: Look, knownHost: string | null): Promise<Result> {
  if (status === 404 || status === 410 || problem === 'dns') return 'gone';
  if (problem !== null || status === null || status >= 500) return 'unreachable';
  const isMoved = knownHost !== null && (await registeredDomain(knownHost)) !== (await registeredDomain(host));
  return isMoved ? 'moved' : 'found';
}
