import type pg from 'pg';
import type { OptOuts } from '../../decision/types.ts';
import { dates, uuids } from '../../platform/db/binary-array.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { changeSessions } from '../../reports/rollup/recount.ts';
import type { SessionRecord } from './session-record.ts';
import { givenSessionsSql, sessionColumns, sessionValues, sessionValuesCount } from './session-rows.ts';

const insertSql = `
insert into sessions (${sessionColumns})
${givenSessionsSql}`;

/** Inserts many sessions in one statement. */
export async function insertSessions(executor: Executor, sessions: readonly SessionRecord[]): Promise<void> {
  await executor.query({ name: 'insert_sessions', text: insertSql, values: sessionValues(sessions) });
}

/** Whether a publisher has any session. */
export async function hasSessions(executor: Executor, publisherId: number): Promise<boolean> {
  const { rows } = await executor.query('select from sessions where publisher_id = $1 limit 1', [publisherId]);
  return rows.length > 0;
}

const insertUnlessOptedOutSql = `
with opted_out as (
  select user_key, opt_outs from user_history
  where user_key = any($${sessionValuesCount + 1}::uuid[]) and opt_outs <> '{}'
), written as (
  insert into sessions (${sessionColumns})
  ${givenSessionsSql}
  where not exists (select from opted_out where opted_out.user_key = given.user_key)
)
select user_key, opt_outs from opted_out`;

/**
 * Inserts the sessions of users who have opted out of nothing, in one statement.
 * @returns the opt-outs of the other users, whose sessions are not inserted
 */
export async function insertUnlessOptedOut(
  executor: Executor,
  sessions: readonly SessionRecord[],
): Promise<Map<string, OptOuts>> {
  const userKeys = sessions.flatMap(({ userKey }) => userKey ?? []);
  const { rows } = await executor.query<OptOutRow>({
    name: 'insert_unless_opted_out',
    text: insertUnlessOptedOutSql,
    values: [...sessionValues(sessions), uuids(userKeys, (key) => key)],
  });
  return new Map(rows.map((row) => [row.user_key, row.opt_outs]));
}

type OptOutRow = { user_key: string; opt_outs: OptOuts };

/** The opt-outs of many users in one statement. */
export async function loadOptOuts(executor: Executor, userKeys: readonly string[]): Promise<Map<string, OptOuts>> {
  if (userKeys.length === 0) return new Map();
  const { rows } = await executor.query<OptOutRow>({
    name: 'load_opt_outs',
    text: 'select user_key, opt_outs from user_history where user_key = any($1::uuid[])',
    values: [uuids(userKeys, (key) => key)],
  });
  return new Map(rows.map((row) => [row.user_key, row.opt_outs]));
}

/** Empties sessions whose deadline had passed when they were committed, and corrects the reports that counted them. */
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
