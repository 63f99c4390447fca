import { type Executor, readSlices } from '../../platform/db/pool.ts';
import type { EraseOfUser, EraseWithSessions, ErasureSweep, ExportRows } from '../../platform/user-data.ts';
import type { Exposure } from '../caps.ts';
import { readRecords } from './records.ts';

/** Deletes a user's exposure history and opt-outs. */
export const eraseHistoryOfUser: EraseOfUser = async (pool, sweep, onErased) => {
  await onErased({ histories: await deleteHistories(pool, sweep.subject.userKeys, sweep) });
};

/** Deletes the histories of the users to whom these sessions belong. */
export const eraseHistoriesOfSessions: EraseWithSessions = async (executor, sessions, sweep) => {
  const userKeys = [...new Set(sessions.flatMap(({ userKey }) => userKey ?? []))];
  return { histories: await deleteHistories(executor, userKeys, sweep) };
};

/**
 * Deletes histories. The second sweep retains a history if the user has had a new session since the first sweep. Rows
 * are locked in key order, as in all other statements, to avoid deadlocks.
 */
async function deleteHistories(
  executor: Executor,
  userKeys: readonly string[],
  { until, isSecond }: ErasureSweep,
): Promise<number> {
  const { rowCount } = await executor.query(
    `delete from user_history where user_key = any(array(
      select user_key from user_history h
      where (user_key = any($1::uuid[]) or earlier_key = any($1::uuid[]))
        and not ($2 and exists (select from sessions s where s.user_key = h.user_key and s.created_at > $3))
      order by user_key for update))`,
    [userKeys, isSecond, until],
  );
  return rowCount ?? 0;
}

/** Exports the exposures, reservations and opt-outs of a user. */
export const exportHistory: ExportRows = async function* (executor, { userKeys }) {
  const slices = readSlices<{ exposures: Buffer; entry: Record<string, unknown> }>(
    executor,
    `select exposures, to_jsonb(h) - 'user_key' - 'earlier_key' - 'publisher_id' as entry from user_history h
    where user_key = any($1::uuid[]) or earlier_key = any($1::uuid[])`,
    [userKeys],
  );
  for await (const rows of slices)
    yield rows.map(({ exposures: stored, entry }) => {
      const { exposures, reserved } = readRecords(stored, 0);
      const reservations = reserved.map(({ exposure }) => toEntry(exposure));
      return { entry: { ...entry, exposures: exposures.map(toEntry), reservations } };
    });
};

const toEntry = ({ event, offerId, campaignId, advertiserId, atMs, count = 1 }: Exposure): Record<string, unknown> => ({
  event,
  offer_id: offerId,
  campaign_id: campaignId,
  advertiser_id: advertiserId,
  at: new Date(atMs).toISOString(),
  count,
});
