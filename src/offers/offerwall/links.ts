import { eventKinds } from '../../catalog/event-kinds.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Publisher } from '../../catalog/types.ts';
import { AppError } from '../../platform/errors.ts';
import type { TokenClaims, TokenCodec } from '../../platform/security/tracking-token.ts';
import { checkToken } from '../../platform/security/tracking-token.ts';

/** Link to an offerwall, after its verification. */
export type OpenedLink = {
  token: string;
  claims: TokenClaims & { sessionId: string };
  publisher: Publisher;
};

/** Dependencies for verifying offerwall links. */
export type LinkReader = { catalog: CatalogStore; tokens: TokenCodec; now: () => number };

/**
 * Verifies the tracking token in an offer's `offerwall_url`. The token is valid for as long as a click would be.
 * @throws AppError invalid_token, offerwall_not_enabled
 */
export function openLink({ catalog, tokens, now }: LinkReader, token: unknown): OpenedLink {
  const claims = typeof token === 'string' ? tokens.read(token) : null;
  const publisher = claims === null ? undefined : catalog.current().publishers.get(claims.publisherId);
  if (claims?.sessionId == null || publisher === undefined || !checkToken(claims, now(), eventKinds.click.token))
    throw new AppError('invalid_token');
  requireOfferwall(publisher);
  return { token: token as string, claims: { ...claims, sessionId: claims.sessionId }, publisher };
}

/**
 * Checks that the publisher's offerwall is enabled.
 * @throws AppError offerwall_not_enabled
 */
export function requireOfferwall(publisher: Publisher): void {
  if (!publisher.offerwallEnabled) throw new AppError('offerwall_not_enabled');
}
