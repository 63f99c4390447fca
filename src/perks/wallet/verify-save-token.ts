import { eventKinds } from '../../catalog/event-kinds.ts';
import { isKnownTo } from '../../catalog/provisioning.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Offer } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { checkToken, type TokenCodec } from '../../platform/security/tracking-token.ts';
import { findSessionUser, type WalletItem } from '../wallet-items.ts';

/**
 * Purpose of a token: to `view` its user's wallet, or to `save` its offer. Saving also requires that the offer allows
 * it.
 */
type TokenUse = 'view' | 'save';

/** Wallet item that a token saves. `recorded` is false for a dev session, which is not stored. */
type VerifiedSave = { item: WalletItem; offer: Offer; recorded: boolean };

/**
 * Verifies a tracking token for saving an offer. It is valid for as long as a click token
 * (docs/reference/tracking-and-conversions.md#tracking-urls). Errors: invalid_token; wallet_not_enabled if the
 * publisher or offer does not allow saving, or if the session has no user.
 */
export type VerifySaveToken = (token: unknown, use: TokenUse) => Promise<VerifiedSave>;

type UserKeyOf = (publisherId: number, pubUserId: string) => Promise<string>;

/** Dependencies for verifying tokens. `now` returns epoch milliseconds. */
type VerifierDeps = { catalog: CatalogStore; tokens: TokenCodec; pool: Executor; now: () => number };

export function createSaveTokenVerifier(
  { catalog, tokens, pool, now }: VerifierDeps,
  userKeyOf: UserKeyOf,
): VerifySaveToken {
  return async (token, use) => {
    const atMs = now();
    const claims = typeof token === 'string' ? tokens.read(token) : null;
    if (claims === null || !checkToken(claims, atMs, eventKinds.click.token)) throw new AppError('invalid_token');
    const { publisherId, offerId, campaignId, sessionId, position, dev } = claims;
    await catalog.ready(publisherId);
    const { offers, publishers } = catalog.current();
    const offer = offers.get(offerId);
    if (offer === undefined || !isKnownTo(offer, publisherId)) throw new AppError('invalid_token');
    const isEnabled = publishers.get(publisherId)?.walletEnabled === true && (use === 'view' || offer.walletEnabled);
    if (!isEnabled) throw new AppError('wallet_not_enabled');
    if (sessionId === null) throw noUser();
    const user = await findSessionUser(pool, publisherId, sessionId);
    if (user === null) throw new AppError('invalid_token');
    const { pubUserId, macros, language } = user;
    if (pubUserId === null) throw noUser();
    const userKey = await userKeyOf(publisherId, pubUserId);
    const item = {
      userKey,
      offerId,
      publisherId,
      campaignId,
      sessionId,
      position,
      pubUserId,
      macros,
      language,
      savedAt: new Date(atMs),
    };
    return { item, offer, recorded: !dev };
  };
}

const noUser = (): AppError =>
  new AppError('wallet_not_enabled', {
    message: problem('noWallet'),
  });
