import type pg from 'pg';
import { insertSessions } from '../budgets/sessions.ts';
import { dates, uuids } from '../platform/db/binary-array.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { changeSessions } from '../reports/corrections.ts';
import type { SessionRecord } from './session-record.ts';

/**
 * Returns the creation time of a publisher's latest session before a given time, in epoch milliseconds. Returns null if
 * the publisher has no earlier sessions.
 */
export async function lastSessionBefore(
  executor: Executor,
  publisherId: number,
  beforeMs: number,
): Promise<number | null> {
  const { rows } = await executor.query<{ at: Date }>(
    `select created_at as at from sessions where publisher_id = $1 and created_at < $2
    order by day desc, created_at desc limit 1`,
    [publisherId, new Date(beforeMs)],
  );
  return rows[0]?.at.getTime() ?? null;
}

/** Maximum number of sessions per statement. It keeps statements short even on a busy machine. */
const maxRows = 500;

/** Inserts any number of past sessions. */
export async function insertPastSessions(executor: Executor, sessions: readonly SessionRecord[]): Promise<void> {
  for (let at = 0; at < sessions.length; at += maxRows)
    await insertSessions(executor, sessions.slice(at, at + maxRows));
}

/**
 * Removes the offers from sessions that were committed after their deadline, and corrects the reports that counted
 * them.
 */
export const emptySessions = (pool: pg.Pool, ids: readonly string[]): Promise<void> =>
  transaction(pool, (executor) =>
    changeSessions(executor, [...new Set(ids.map(dayOfUuid7))], ids, () =>
      executor.query({
        name: 'empty_sessions',
        text: `update sessions set offer_ids = '{}', campaign_ids = '{}', empty_reason = 'deadline'
          from unnest($1::date[], $2::uuid[]) as late (on_day, session_id)
          where day = on_day and id = session_id`,
        values: [dates(ids, timeOfUuid7), uuids(ids, (id) => id)],
      }),
    ),
  );
