import type { MacroValues } from '../offers/offer-view.ts';
import { type Executor, readSlices } from '../platform/db/pool.ts';
import { dayOfUuid7, firstUuid7After } from '../platform/lib/uuid7.ts';
import type { EraseOfUser, EraseWithSessions, ExportRows } from '../platform/user-data.ts';

/** Saved offer in a user's wallet. */
export type WalletItem = {
  userKey: string;
  offerId: number;
  publisherId: number;
  campaignId: number;
  /**
   * Newest session in which the offer was saved. Clicks are attributed to this session and to the offer's position in
   * it.
   */
  sessionId: string;
  position: number;
  pubUserId: string;
  macros: MacroValues;
  /** Language tags requested in the session, or null if none exists. */
  language: string | null;
  savedAt: Date;
};

type ItemRow = {
  user_key: string;
  offer_id: number;
  publisher_id: number;
  campaign_id: number;
  session_id: string;
  position: number;
  pub_user_id: string;
  macros: Record<string, string> | null;
  language: string | null;
  saved_at: Date;
};

const itemColumns =
  'user_key, offer_id, publisher_id, campaign_id, session_id, position, pub_user_id, macros, language, saved_at';

/** Maximum number of offers listed per wallet, newest first. */
const maxListed = 500;

/** User of a session, with the session's language and the macro values in its copy. */
export type SessionUser = { pubUserId: string | null; macros: MacroValues; language: string | null };

type SessionRow = { pub_user_id: string | null; macros: Record<string, string> | null; language: string | null };

/**
 * Finds the user of a session.
 * @returns null if the publisher has no such session
 */
export async function findSessionUser(
  executor: Executor,
  publisherId: number,
  sessionId: string,
): Promise<SessionUser | null> {
  const { rows } = await executor.query<SessionRow>({
    name: 'find_wallet_user',
    text: `select pub_user_id, macros, language from sessions
      where day = $1::date and id = $2::uuid and publisher_id = $3`,
    values: [dayOfUuid7(sessionId), sessionId, publisherId],
  });
  const [row] = rows;
  return row === undefined ? null : { pubUserId: row.pub_user_id, macros: row.macros ?? {}, language: row.language };
}

/**
 * Saves an offer. If the offer is already saved, only updates its session to the newest one.
 * @returns whether the offer was newly saved; if several calls save it concurrently, only one returns true
 */
export async function insertItem(executor: Executor, item: WalletItem): Promise<boolean> {
  const { rows } = await executor.query<{ inserted: boolean }>({
    name: 'insert_wallet_item',
    text: `insert into wallet_items (${itemColumns})
values ($1::uuid, $2, $3, $4, $5::uuid, $6, $7, $8::jsonb, $9, $10::timestamptz)
on conflict (user_key, offer_id) do update
set session_id = excluded.session_id, position = excluded.position, macros = excluded.macros,
  language = excluded.language
where wallet_items.session_id < excluded.session_id
returning xmax = 0 as inserted`,
    values: [
      item.userKey,
      item.offerId,
      item.publisherId,
      item.campaignId,
      item.sessionId,
      item.position,
      item.pubUserId,
      Object.keys(item.macros).length === 0 ? null : JSON.stringify(item.macros),
      item.language,
      item.savedAt,
    ],
  });
  return rows[0]?.inserted ?? false;
}

/** Returns a user's saved offers, newest first. */
export async function listItems(executor: Executor, publisherId: number, userKey: string): Promise<WalletItem[]> {
  const { rows } = await executor.query<ItemRow>({
    name: 'list_wallet_items',
    text: `select ${itemColumns} from wallet_items where user_key = $1::uuid and publisher_id = $2
order by saved_at desc, offer_id desc limit ${maxListed}`,
    values: [userKey, publisherId],
  });
  return rows.map(toItem);
}

/**
 * Removes a saved offer.
 * @returns the removed item, or null if there was none; if several calls remove it concurrently, only one returns the
 * item
 */
export async function deleteItem(
  executor: Executor,
  publisherId: number,
  userKey: string,
  offerId: number,
): Promise<WalletItem | null> {
  const { rows } = await executor.query<ItemRow>({
    name: 'delete_wallet_item',
    text: `delete from wallet_items where user_key = $1::uuid and offer_id = $2 and publisher_id = $3
returning ${itemColumns}`,
    values: [userKey, offerId, publisherId],
  });
  return rows[0] === undefined ? null : toItem(rows[0]);
}

/**
 * Moves a user's wallet items from user keys under earlier peppers to the user's current key
 * (docs/operations.md#rotating-the-user-pepper).
 */
export async function moveItems(
  executor: Executor,
  publisherId: number,
  earlier: readonly string[],
  userKey: string,
): Promise<void> {
  await executor.query({
    name: 'move_wallet_items',
    text: `with moved as (
  delete from wallet_items where user_key = any($1::uuid[]) and publisher_id = $2 returning *
)
insert into wallet_items (${itemColumns}, earlier_key)
select $3::uuid, offer_id, publisher_id, campaign_id, session_id, position, pub_user_id, macros, language, saved_at,
  user_key
from moved order by offer_id
on conflict (user_key, offer_id) do nothing`,
    values: [earlier, publisherId, userKey],
  });
}

/**
 * Returns the current user key of a wallet that was previously stored under the given key, or null if it was not moved.
 */
export async function findMovedOwner(
  executor: Executor,
  publisherId: number,
  earlierKey: string,
): Promise<string | null> {
  const { rows } = await executor.query<{ user_key: string }>({
    name: 'find_moved_wallet',
    text: 'select user_key from wallet_items where earlier_key = $1::uuid and publisher_id = $2 limit 1',
    values: [earlierKey, publisherId],
  });
  return rows[0]?.user_key ?? null;
}

/**
 * Counts saved offers by the pepper that their user keys were created with. A pepper is identified by its mark
 * (`pepperMark`).
 */
export async function countItemsByMark(executor: Executor): Promise<Map<string, number>> {
  const { rows } = await executor.query<{ mark: string; count: number }>(
    'select left(user_key::text, 4) as mark, count(*)::int as count from wallet_items group by 1',
  );
  return new Map(rows.map(({ mark, count }) => [mark, count]));
}

/** Deletes the offers that the user saved in any session up to the time of the erasure request. */
export const eraseWalletOfUser: EraseOfUser = async (pool, { subject, until }, onErased) => {
  const { rowCount } = await pool.query(
    'delete from wallet_items where user_key = any($1::uuid[]) and session_id < $2::uuid',
    [subject.userKeys, firstUuid7After(until)],
  );
  await onErased({ wallet_items: rowCount ?? 0 });
};

/** Deletes the offers that were saved in the given sessions. */
export const eraseWalletOfSessions: EraseWithSessions = async (executor, sessions) => {
  const { rowCount } = await executor.query(
    'delete from wallet_items where user_key = any($1::uuid[]) and session_id = any($2::uuid[])',
    [[...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))], sessions.map(({ id }) => id)],
  );
  return { wallet_items: rowCount ?? 0 };
};

/**
 * Exports saved offers: the whole wallet for a `pub_user_id`, or the offers saved in the device's sessions for an
 * `ad_fp`.
 */
export const exportWallet: ExportRows = (executor, { subject, pubUserKeys, sessionIds }) =>
  readSlices(
    executor,
    `select offer_id, campaign_id, session_id, macros, language, saved_at from wallet_items
    where user_key = any($1::uuid[]) and (not $3 or session_id = any($2::uuid[]))
    order by saved_at`,
    [pubUserKeys, sessionIds, subject.namedBy === 'ad_fp'],
  );

function toItem(row: ItemRow): WalletItem {
  return {
    userKey: row.user_key,
    offerId: row.offer_id,
    publisherId: row.publisher_id,
    campaignId: row.campaign_id,
    sessionId: row.session_id,
    position: row.position,
    pubUserId: row.pub_user_id,
    macros: row.macros ?? {},
    language: row.language,
    savedAt: row.saved_at,
  };
}
