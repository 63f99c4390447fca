import { firstUuid7After } from '../../platform/lib/uuid7.ts';
import type { EraseOfUser, EraseWithSessions, ExportRows } from '../../platform/user-data.ts';

/** Deletes the user's saved offers, of all sessions up to the erasure. */
export const eraseWalletOfUser: EraseOfUser = async (pool, { subject, until }, onErased) => {
  const { rowCount } = await pool.query(
    'delete from wallet_items where user_key = any($1::uuid[]) and session_id < $2::uuid',
    [subject.userKeys, firstUuid7After(until)],
  );
  await onErased({ wallet_items: rowCount ?? 0 });
};

/** Deletes offers that were saved from these sessions. */
export const eraseWalletOfSessions: EraseWithSessions = async (executor, sessions) => {
  const { rowCount } = await executor.query(
    'delete from wallet_items where user_key = any($1::uuid[]) and session_id = any($2::uuid[])',
    [[...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))], sessions.map(({ id }) => id)],
  );
  return { wallet_items: rowCount ?? 0 };
};

/** Saved offers: by `pub_user_id` the whole wallet, by `ad_fp` what was saved from the device's sessions. */
export const exportWallet: ExportRows = async (executor, { subject, pubUserKeys, sessionIds }) => {
  const { rows } = await executor.query(
    `select offer_id, campaign_id, session_id, macros, saved_at from wallet_items
    where user_key = any($1::uuid[]) and (not $3 or session_id = any($2::uuid[]))
    order by saved_at`,
    [pubUserKeys, sessionIds, subject.namedBy === 'ad_fp'],
  );
  return rows;
};
