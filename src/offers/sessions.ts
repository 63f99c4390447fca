import type pg from 'pg';
import { insertSessions } from '../budgets/sessions.ts';
import { dates, uuids } from '../platform/db/binary-array.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { changeSessions } from '../reports/corrections.ts';
import type { SessionRecord } from './session-record.ts';

/** Whether a publisher has any sessions. */
export async function hasSessions(executor: Executor, publisherId: number): Promise<boolean> {
  const { rows } = await executor.query('select from sessions where publisher_id = $1 limit 1', [publisherId]);
  return rows.length > 0;
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
