import type { IncomingMessage } from 'node:http';
import { eventKinds, type TrackedKind } from '../catalog/event-kinds.ts';
import type { CatalogDeps } from '../catalog/ports.ts';
import { eventRevenueMicros, isKnownTo } from '../catalog/snapshot/provisioning.ts';
import type { Offer } from '../catalog/snapshot/types.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import { checkToken } from '../platform/security/check-tracking-token.ts';
import { createBotCheck } from './beacons/bots.ts';
import type { TrackedEvent } from './beacons/insert-events.ts';
import { isPrefetch } from './beacons/prefetch.ts';

/** A request whose token we signed and that is in time. */
export type Visit = {
  token: string;
  event: TrackedEvent;
  offer: Offer;
  /** Whether it leaves a trace: developers' sessions, guesses of browsers and HEAD do not. */
  recorded: boolean;
};

/**
 * The visit a request makes with a token, or null when that is bad, late, or of an offer that its publisher does not
 * have.
 */
export type Admit = (request: IncomingMessage, token: unknown, kind: TrackedKind) => Visit | null;

export function createAdmission({ catalog, tokens, now }: Pick<CatalogDeps, 'catalog' | 'tokens' | 'now'>): Admit {
  const isBot = createBotCheck();
  return ({ headers, method }, token, kind) => {
    if (typeof token !== 'string') return null;
    const claims = tokens.read(token);
    if (claims === null) return null;
    const atMs = now();
    const offer = catalog.current().offers.get(claims.offerId);
    if (
      offer === undefined ||
      !isKnownTo(offer, claims.publisherId) ||
      !checkToken(claims, atMs, eventKinds[kind].token)
    )
      return null;
    const suspicious = isBot(headers['user-agent']) ? 'bot' : claims.sessionId === null ? 'qr' : null;
    const revenueMicros = eventRevenueMicros(kind, offer.campaign, claims.publisherId);
    const event = {
      kind,
      claims,
      sessionId: claims.sessionId ?? newUuid7(atMs),
      atMs,
      suspicious,
      revenueMicros,
    } as const;
    return { token, event, offer, recorded: !claims.dev && method === 'GET' && !isPrefetch(headers) };
  };
}
