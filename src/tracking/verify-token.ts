import type { IncomingHttpHeaders } from 'node:http';
import type { AccountDeps } from '../accounts/ports.ts';
import { eventKinds, type TrackedKind } from '../catalog/event-kinds.ts';
import { eventRevenueMicros, isKnownTo } from '../catalog/provisioning.ts';
import type { Offer } from '../catalog/types.ts';
import type { TrackedEvent } from '../event-log/tracked-event.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import { checkToken } from '../platform/security/tracking-token.ts';
import { createBotCheck } from './beacons/bots.ts';

/** A request with a valid tracking token. */
export type TrackedRequest = {
  token: string;
  event: TrackedEvent;
  offer: Offer;
  /** HEAD or a prefetch: nothing was shown or followed yet. */
  isSpeculative: boolean;
  /** Whether the event is stored: those of developers' sessions and speculative ones are not. */
  recorded: boolean;
};

/**
 * Verifies the token of a request, its parameter `t` (docs/interface.md#tracking).
 * @returns null for a bad or expired token, or one of an offer that its publisher does not have
 */
export type VerifyToken = (
  request: { headers: IncomingHttpHeaders; method?: string | undefined },
  token: unknown,
  kind: TrackedKind,
) => TrackedRequest | null;

export function createTokenVerifier({
  catalog,
  tokens,
  now,
}: Pick<AccountDeps, 'catalog' | 'tokens' | 'now'>): VerifyToken {
  const isBot = createBotCheck();
  return ({ headers, method }, token, kind) => {
    if (typeof token !== 'string') return null;
    const claims = tokens.read(token);
    if (claims === null) return null;
    const atMs = now();
    const offer = catalog.current().offers.get(claims.offerId);
    if (offer === undefined || !isKnownTo(offer, claims.publisherId)) return null;
    if (!checkToken(claims, atMs, eventKinds[kind].token)) return null;
    const event: TrackedEvent = {
      kind,
      claims,
      sessionId: claims.sessionId ?? newUuid7(atMs),
      atMs,
      suspicious: isBot(headers['user-agent']) ? 'bot' : claims.sessionId === null ? 'qr' : null,
      revenueMicros: eventRevenueMicros(kind, offer.campaign, claims.publisherId),
    };
    const isSpeculative = method !== 'GET' || isPrefetch(headers);
    return { token, event, offer, isSpeculative, recorded: !claims.dev && !isSpeculative };
  };
}

/** Safari sends `preview` for the thumbnails of its start page. */
const purposes = /prefetch|prerender|preview/i;

/** Whether a browser fetches the address before a user asked for it: `Sec-Purpose`, `Purpose` or `X-Moz` says so. */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return [headers['sec-purpose'], headers.purpose, headers['x-moz']].some(
    (value) => value !== undefined && purposes.test(String(value)),
  );
}
