import type pg from 'pg';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Config } from '../../config.ts';
import type { CouponIssuer } from '../../coupons/issuer.ts';
import { sharedCouponOf } from '../../offers/offer-view.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { firstTag } from '../../platform/lib/language-tags.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { createSigner, type TokenCodec } from '../../platform/security/tracking-token.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type EventMeter, insertEvents, perkEvent } from '../../tracking/event-rows.ts';
import type { PerkMessages } from '../perk-messages.ts';
import type { Recipient } from '../recipient.ts';
import { deleteItem, findMovedOwner, insertItem, listItems, moveItems } from '../wallet-items.ts';
import { createChangeNotifier } from './changes.ts';
import { createWalletLinks, openPurpose } from './links.ts';
import { createSavedOffers, type SavedOffer, withCoupons } from './saved-offers.ts';
import { savedUntilMs } from './saved-until.ts';
import { createSaveTokenVerifier, type VerifySaveToken } from './verify-save-token.ts';

/** Wallet owner: a user of a publisher. */
export type WalletOwner = { publisherId: number; userKey: string };

/** Dependencies of the wallet service. `now` returns epoch milliseconds. */
export type WalletDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  tokens: TokenCodec;
  config: Config;
  eventMeter: EventMeter;
  coupons: CouponIssuer;
  /** Outbox for perk messages, or null if messages are not available. */
  messages: PerkMessages | null;
  now: () => number;
};

/**
 * Wallet calls (docs/reference/perks-and-wallet.md#wallet). While the database is unavailable, all calls reject with
 * `unavailable` (503).
 */
export type WalletService = {
  /**
   * Saves the offer that a tracking token belongs to. `recipient` gets a reminder before the offer ends.
   * @returns the URL of the wallet page. Errors: invalid_token, wallet_not_enabled
   */
  save: (token: unknown, trace: Trace | null, recipient?: Recipient | null) => Promise<string>;
  /**
   * Returns the URL of the wallet page for the token's user, without saving the offer. Errors are the same as for
   * `save`.
   */
  pageOf: (token: unknown) => Promise<string>;
  /** Checks that a token can be used, without saving the offer. Errors are the same as for `save`. */
  verify: VerifySaveToken;
  list: (owner: WalletOwner) => Promise<readonly SavedOffer[]>;
  /** Returns the URL of the owner's wallet page. The URL is the same for a whole day, and valid for 59 to 60 days. */
  pageFor: (owner: WalletOwner) => string;
  /**
   * Removes a saved offer.
   * @returns false if the offer was not in the wallet
   */
  remove: (owner: WalletOwner, offerId: number, trace: Trace | null) => Promise<boolean>;
  ownerOf: (publisherId: number, pubUserId: string) => Promise<WalletOwner>;
  /**
   * Returns the current owner of the wallet that a link was created for, even if the user's key has changed since then.
   */
  ownerByLink: <Owner extends WalletOwner>(owner: Owner) => Promise<Owner>;
};

/**
 * Lifetime of a wallet link, counted from its session, in milliseconds. An offer can be saved up to 30 days after the
 * session, so a link is always valid for at least 30 more days. Counting from the session means that saving an offer
 * again returns the same link.
 */
const linkLifeMs = 60 * dayMs;

export const walletPagePath = '/wallet';

export function createWalletService(deps: WalletDeps): WalletService {
  const { pool, dbHealth, catalog, config, now, eventMeter } = deps;
  const failFast = createFailFast(dbHealth);
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const links = createWalletLinks(createSigner(config.tokenKeys, openPurpose));

  /** Returns a user's current key. Also moves the user's wallet to this key if it is stored under an earlier pepper. */
  async function userKeyOf(publisherId: number, pubUserId: string): Promise<string> {
    const [userKey = '', ...earlier] = userKeys.allOf(publisherId, pubUserId);
    if (earlier.length > 0) await moveItems(pool, publisherId, earlier, userKey);
    return userKey;
  }

  const verify = createSaveTokenVerifier(deps, userKeyOf);
  const savedOffersOf = createSavedOffers(deps);
  const notify = createChangeNotifier(savedOffersOf);

  function pageUrl({ publisherId, userKey }: WalletOwner, fromMs: number, language: string | null = null): string {
    const expiresS = Math.floor((fromMs + linkLifeMs) / 1000);
    const token = links.mint({ publisherId, userKey, offerId: 0, expiresS });
    const inLanguage = language === null ? '' : `&language=${firstTag(language)}`;
    return `${config.publicUrl}${walletPagePath}?t=${token}${inLanguage}`;
  }

  async function save(token: unknown, trace: Trace | null, recipient: Recipient | null): Promise<string> {
    const { item, offer, recorded } = await verify(token, 'save');
    await transaction(pool, async (executor) => {
      const isNew = !recorded || (await insertItem(executor, item));
      const atMs = item.savedAt.getTime();
      const wants = offer.coupon === null ? [] : [{ ...item, offer, dev: !recorded }];
      const isIssuedNow = isNew && offer.coupon?.giveAt === 'save';
      const [coupon] = isIssuedNow ? await deps.coupons.issue(executor, wants, atMs) : [];
      if (recipient !== null && recorded) {
        const [had] = isIssuedNow ? [coupon] : await deps.coupons.find(executor, wants, atMs);
        const endsAtMs = savedUntilMs(offer, had ?? sharedCouponOf(offer, atMs));
        if (endsAtMs !== null) await deps.messages?.remind(executor, { ...item, recipient, nowMs: atMs, endsAtMs });
      }
      if (!isNew) return;
      await notify(executor, { event: 'offer_saved', item, atMs, dev: !recorded, trace, coupon });
      if (!recorded) return;
      await insertEvents(executor, [perkEvent('save', { ...item, dev: false }, atMs)]);
      executor.onCommit(() => eventMeter.recorded('save', null));
    });
    return pageUrl(item, timeOfUuid7(item.sessionId), item.language);
  }

  async function pageOf(token: unknown): Promise<string> {
    const { item } = await verify(token, 'view');
    return pageUrl(item, timeOfUuid7(item.sessionId), item.language);
  }

  const remove: WalletService['remove'] = async ({ publisherId, userKey }, offerId, trace) => {
    await catalog.ready(publisherId);
    return transaction(pool, async (executor) => {
      const item = await deleteItem(executor, publisherId, userKey, offerId);
      if (item !== null)
        await notify(executor, { event: 'offer_removed', item, atMs: now(), dev: false, trace, coupon: undefined });
      return item !== null;
    });
  };

  return {
    save: (token, trace, recipient = null) => failFast(() => save(token, trace, recipient)),
    pageOf: (token) => failFast(() => pageOf(token)),
    verify: (token, use) => failFast(() => verify(token, use)),
    list: ({ publisherId, userKey }) =>
      failFast(async () => {
        await catalog.ready(publisherId);
        return withCoupons(deps, savedOffersOf(await listItems(pool, publisherId, userKey)));
      }),
    pageFor: (owner) => pageUrl(owner, Math.floor(now() / dayMs) * dayMs),
    remove: (owner, offerId, trace) => failFast(() => remove(owner, offerId, trace)),
    ownerOf: (publisherId, pubUserId) =>
      failFast(async () => ({ publisherId, userKey: await userKeyOf(publisherId, pubUserId) })),
    ownerByLink: (owner) =>
      failFast(async () => ({
        ...owner,
        userKey: (await findMovedOwner(pool, owner.publisherId, owner.userKey)) ?? owner.userKey,
      })),
  };
}
