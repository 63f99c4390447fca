import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs } from '../platform/lib/time.ts';
import type { EraseWithSessions } from '../platform/user-data.ts';

/**
 * Records erased sessions in the transaction that erases them, so that tombstones of all exported sessions follow.
 * Without data files, nothing is recorded.
 */
export const recordErasures: EraseWithSessions = async (executor, sessions, { subject, nowMs }) => {
  await executor.query(
    `insert into data_file_erasures (day, session_id, publisher_id, user_key, erased_at)
    select day, session_id, $1, user_key, $2
    from unnest($3::date[], $4::uuid[], $5::uuid[]) as erased (day, session_id, user_key)
    where exists (select from data_file_runs)`,
    [
      subject.publisherId,
      new Date(nowMs),
      sessions.map(({ day }) => day),
      sessions.map(({ id }) => id),
      sessions.map(({ userKey }) => userKey),
    ],
  );
  return {};
};

/** Deletes tombstones after RETENTION_RAW_DAYS, and runs after RETENTION_ROLLUP_DAYS, except the latest ones. */
export const applyDataFileRetention: RetentionStep = async (pool, { retentionRawDays, retentionRollupDays }, nowMs) => {
  const before = (days: number): Date => new Date(nowMs - days * dayMs);
  const { rowCount: erasures } = await pool.query('delete from data_file_erasures where erased_at < $1', [
    before(retentionRawDays),
  ]);
  const { rowCount: runs } = await pool.query(
    'delete from data_file_runs where planned_at < $1 and id < (select max(id) - 1 from data_file_runs)',
    [before(retentionRollupDays)],
  );
  return { tombstones: erasures ?? 0, runs: runs ?? 0 };
};
