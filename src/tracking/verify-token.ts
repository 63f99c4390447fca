import type { IncomingHttpHeaders } from 'node:http';
import { eventKinds, ownEventsOf, type TrackedKind } from '../catalog/event-kinds.ts';
import { eventRevenueMicros, isKnownTo } from '../catalog/provisioning.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Offer, Publisher, TrackedEvent } from '../catalog/types.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import { checkToken, type TokenClaims, type TokenCodec } from '../platform/security/tracking-token.ts';
import { createRobotCheck } from '../platform/user-agent/robots.ts';
import type { RobotTraffic } from './robot-traffic.ts';

/** Request with a valid tracking token. */
export type TrackedRequest = {
  token: string;
  event: TrackedEvent;
  offer: Offer;
  /** Whether this is a HEAD request or a prefetch. In that case, the user has not seen or followed anything yet. */
  isSpeculative: boolean;
  /** Whether the event is stored. Events from dev sessions and speculative requests are not stored. */
  recorded: boolean;
};

/**
 * Verifies the tracking token in the parameter `t` of a beacon or click
 * (docs/reference/tracking-and-conversions.md#tracking-urls).
 * @param ownEvent name of an own event, which a publisher or advertiser has defined
 * @returns the tracked request, or null if the token is invalid or expired, or if the publisher does not have the
 * offer; a promise only if the publisher must be loaded first
 */
export type VerifyToken = (
  request: { headers: IncomingHttpHeaders; method?: string | undefined },
  token: unknown,
  kind: TrackedKind,
  ownEvent?: unknown,
) => TrackedRequest | null | Promise<TrackedRequest | null>;

type VerifierDeps = { catalog: CatalogStore; tokens: TokenCodec; now: () => number; robotTraffic: RobotTraffic };

export function createTokenVerifier({ catalog, tokens, now, robotTraffic }: VerifierDeps): VerifyToken {
  const isRobot = createRobotCheck();
  return (request, token, kind, name) => {
    if (typeof token !== 'string') return null;
    const claims = tokens.read(token);
    if (claims === null) return null;
    const loading = catalog.ready(claims.publisherId);
    const verified = (): TrackedRequest | null => verify(request, { token, claims }, kind, name);
    return loading === null ? verified() : loading.then(verified);
  };

  function verify(
    { headers, method }: Parameters<VerifyToken>[0],
    { token, claims }: { token: string; claims: TokenClaims },
    kind: TrackedKind,
    name: unknown,
  ): TrackedRequest | null {
    const atMs = now();
    const { offers, publishers } = catalog.current();
    const offer = offers.get(claims.offerId);
    if (offer === undefined || !isKnownTo(offer, claims.publisherId)) return null;
    if (!checkToken(claims, atMs, eventKinds[kind].token)) return null;
    if (kind === 'own' && !isOwnEvent(publishers.get(claims.publisherId), offer, name)) return null;
    const userAgent = headers['user-agent'] ?? '';
    const isFromRobot = isRobot(userAgent) && !isAllowed(publishers.get(claims.publisherId), userAgent);
    const event: TrackedEvent = {
      kind,
      claims,
      sessionId: claims.sessionId ?? newUuid7(atMs),
      atMs,
      suspicious: isFromRobot ? 'bot' : claims.sessionId === null ? 'qr' : null,
      revenueMicros: eventRevenueMicros(kind, offer.campaign, claims.publisherId),
      currency: offer.campaign.payout.currency,
    };
    if (kind === 'own') event.name = name as string;
    const isSpeculative = method !== 'GET' || isPrefetch(headers);
    const recorded = !claims.dev && !isSpeculative;
    if (recorded) robotTraffic.count(claims.publisherId, isFromRobot, userAgent);
    return { token, event, offer, isSpeculative, recorded };
  }
}

/** Whether the publisher has allowed a user agent that would otherwise be classified as a bot. */
const isAllowed = (publisher: Publisher | undefined, userAgent: string): boolean =>
  publisher?.allowedUserAgents.some((part) => userAgent.toLowerCase().includes(part)) === true;

const isOwnEvent = (publisher: Publisher | undefined, { campaign }: Offer, name: unknown): boolean =>
  publisher !== undefined && typeof name === 'string' && ownEventsOf(publisher, campaign).includes(name);

/** `preview` is included because Safari sends it for the page thumbnails on its start page. */
const purposes = /prefetch|prerender|preview/i;

/**
 * Whether a browser is prefetching the URL before the user has requested it, according to the header `Sec-Purpose`,
 * `Purpose` or `X-Moz`.
 */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return [headers['sec-purpose'], headers.purpose, headers['x-moz']].some(
    (value) => value !== undefined && purposes.test(String(value)),
  );
}
