import type { CatalogDeps } from '../../catalog/ports.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { transaction } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { createSigner } from '../../platform/security/keyring.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import { insertEvents } from '../../tracking/beacons/insert-events.ts';
import { perkEvent } from '../../tracking/tracked-event.ts';
import { type AdmitSave, createSaveAdmission } from './admit.ts';
import { createAnnouncer } from './changes.ts';
import { createEntries, type WalletEntry } from './entries.ts';
import { deleteItem, insertItem, listItems } from './items.ts';
import { createWalletLinks, openPurpose } from './links.ts';

/** A wallet: all of it belongs to one user of one publisher. */
export type WalletOwner = { publisherId: number; userKey: string };

/** The calls of the wallet (docs/interface.md#wallet). All reject with `unavailable` (503) while the store is away. */
export type WalletService = {
  /**
   * Keeps the offer of a tracking token. @returns the address of the wallet page. Errors: invalid_token,
   * wallet_not_enabled
   */
  save: (token: unknown) => Promise<string>;
  /** The address of the wallet page of the token's user; nothing is kept. Errors as `save`. */
  pageOf: (token: unknown) => Promise<string>;
  /** Judges a token without keeping anything. Errors as `save`. */
  admit: AdmitSave;
  list: (owner: WalletOwner) => Promise<WalletEntry[]>;
  /** The address of the owner's wallet page, good for 60 days or a little less: the same all day. */
  pageFor: (owner: WalletOwner) => string;
  /** @returns false when it was not there */
  remove: (owner: WalletOwner, offerId: number) => Promise<boolean>;
  ownerOf: (publisherId: number, pubUserId: string) => WalletOwner;
};

/**
 * How long after the session a link to the wallet is good (milliseconds). An offer can be saved for 30 days, so a link
 * is good
 * for 30 days or more; counted from the session, so that saving again answers the same.
 */
const linkLifeMs = 60 * dayMs;

export const walletPagePath = '/wallet';

export function createWalletService(deps: CatalogDeps): WalletService {
  const { pool, dbHealth, config, now } = deps;
  const guarded = createFailFast(dbHealth);
  const userKeys = createUserKeys(config.userPepper);
  const links = createWalletLinks(createSigner(config.tokenKeys, openPurpose));
  const admit = createSaveAdmission(deps, userKeys.of);
  const entriesOf = createEntries(deps);
  const announce = createAnnouncer(entriesOf);

  function pageUrl({ publisherId, userKey }: WalletOwner, fromMs: number): string {
    const expiresS = Math.floor((fromMs + linkLifeMs) / 1000);
    return `${config.publicUrl}${walletPagePath}?t=${links.mint({ publisherId, userKey, offerId: 0, expiresS })}`;
  }

  async function save(token: unknown): Promise<string> {
    const { item, recorded } = await admit(token, 'save');
    await transaction(pool, async (executor) => {
      const isNew = !recorded || (await insertItem(executor, item));
      if (!isNew) return;
      const atMs = item.savedAt.getTime();
      await announce(executor, { event: 'offer_saved', item, atMs, dev: !recorded });
      if (recorded) await insertEvents(executor, [perkEvent('save', { ...item, dev: false }, atMs)]);
    });
    return pageUrl(item, timeOfUuid7(item.sessionId));
  }

  async function pageOf(token: unknown): Promise<string> {
    const { item } = await admit(token, 'look');
    return pageUrl(item, timeOfUuid7(item.sessionId));
  }

  const remove = ({ publisherId, userKey }: WalletOwner, offerId: number): Promise<boolean> =>
    transaction(pool, async (executor) => {
      const item = await deleteItem(executor, publisherId, userKey, offerId);
      if (item !== null) await announce(executor, { event: 'offer_removed', item, atMs: now(), dev: false });
      return item !== null;
    });

  return {
    save: (token) => guarded(() => save(token)),
    pageOf: (token) => guarded(() => pageOf(token)),
    admit: (token, use) => guarded(() => admit(token, use)),
    list: ({ publisherId, userKey }) => guarded(async () => entriesOf(await listItems(pool, publisherId, userKey))),
    pageFor: (owner) => pageUrl(owner, Math.floor(now() / dayMs) * dayMs),
    remove: (owner, offerId) => guarded(() => remove(owner, offerId)),
    ownerOf: (publisherId, pubUserId) => ({ publisherId, userKey: userKeys.of(publisherId, pubUserId) }),
  };
}
