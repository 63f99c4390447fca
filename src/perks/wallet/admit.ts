import { eventKinds } from '../../catalog/event-kinds.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import { isKnownTo } from '../../catalog/snapshot/provisioning.ts';
import type { Offer } from '../../catalog/snapshot/types.ts';
import { AppError } from '../../platform/errors.ts';
import { checkToken } from '../../platform/security/check-tracking-token.ts';
import { findSaver, type WalletItem } from './items.ts';

/**
 * What a token is shown for: to `look` at the wallet of its user, or to `save` its offer, which the offer must allow,
 * too.
 */
export type TokenUse = 'look' | 'save';

/** What a token would keep; `recorded` false: a developer's session, which leaves no trace. */
export type AdmittedSave = { item: WalletItem; offer: Offer; recorded: boolean };

/**
 * Judges a tracking token as one to save with. It is good for as long as a click is (docs/interface.md#tracking).
 * Errors: invalid_token; wallet_not_enabled where publisher or offer do not allow it, or the session names no user.
 */
export type AdmitSave = (token: unknown, use: TokenUse) => Promise<AdmittedSave>;

type UserKeyOf = (publisherId: number, pubUserId: string) => string;

export function createSaveAdmission({ catalog, tokens, pool, now }: CatalogDeps, userKeyOf: UserKeyOf): AdmitSave {
  return async (token, use) => {
    const atMs = now();
    const claims = typeof token === 'string' ? tokens.read(token) : null;
    if (claims === null || !checkToken(claims, atMs, eventKinds.click.token)) throw new AppError('invalid_token');
    const { publisherId, offerId, campaignId, sessionId, position, dev } = claims;
    const { offers, publishers } = catalog.current();
    const offer = offers.get(offerId);
    if (offer === undefined || !isKnownTo(offer, publisherId)) throw new AppError('invalid_token');
    const isOn = publishers.get(publisherId)?.walletEnabled === true && (use === 'look' || offer.walletEnabled);
    if (!isOn) throw new AppError('wallet_not_enabled');
    if (sessionId === null) throw nobody();
    const saver = await findSaver(pool, publisherId, sessionId);
    if (saver === null) throw new AppError('invalid_token');
    const { pubUserId, macros } = saver;
    if (pubUserId === null) throw nobody();
    const userKey = userKeyOf(publisherId, pubUserId);
    const item = {
      userKey,
      offerId,
      publisherId,
      campaignId,
      sessionId,
      position,
      pubUserId,
      macros,
      savedAt: new Date(atMs),
    };
    return { item, offer, recorded: !dev };
  };
}

const nobody = (): AppError =>
  new AppError('wallet_not_enabled', {
    message: 'The offer was shown without a pub_user_id, so there is no wallet to save it to.',
  });
