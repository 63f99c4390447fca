import type pg from 'pg';
import { appendSql, appendValues, type OpenHistory } from '../budgets/history.ts';
import { type OptOutRow, optedOut, optOutsOf } from '../budgets/opt-outs.ts';
import { type Reservation, reservedBySession, reserveFromSlices, slicesAreHeld } from '../budgets/reservations.ts';
import type { OptOuts } from '../budgets/types.ts';
import { bigints, dates, smallints, texts, uuids } from '../platform/db/binary-array.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { changeSessions } from '../reports/recount.ts';
import { givenSessionsSql, sessionColumns, sessionValues, sessionValuesCount } from './fetch/session-rows.ts';
import type { SessionRecord } from './session-record.ts';

const insertSql = `
insert into sessions (${sessionColumns})
${givenSessionsSql}`;

/** Inserts many sessions in one statement. */
export async function insertSessions(executor: Executor, sessions: readonly SessionRecord[]): Promise<void> {
  await executor.query({ name: 'insert_sessions', text: insertSql, values: sessionValues(sessions) });
}

const changedAt = sessionValuesCount + 1;
const insertUnlessChangedSql = `
with appended as (
  ${appendSql(changedAt)}
), missed as (
  select unnest($${changedAt}::uuid[]) as user_key except select user_key from appended
), written as (
  insert into sessions (${sessionColumns})
  ${givenSessionsSql}
  where not exists (select from missed where missed.user_key = given.user_key)
)
select user_key from missed`;

/**
 * Inserts the sessions of users whose histories nobody has written since they were read, with what they reserve of
 * them, in one statement.
 * @param histories those that get reservations
 * @returns the keys of the other users, of whom nothing is written
 */
export async function insertUnlessChanged(
  executor: Executor,
  sessions: readonly SessionRecord[],
  histories: readonly OpenHistory[],
  nowMs: number,
): Promise<Set<string>> {
  const { rows } = await executor.query<{ user_key: string }>({
    name: 'insert_unless_changed',
    text: insertUnlessChangedSql,
    values: [...sessionValues(sessions), ...appendValues(histories, nowMs)],
  });
  return new Set(rows.map((row) => row.user_key));
}

/** Whether a publisher has any session. */
export async function hasSessions(executor: Executor, publisherId: number): Promise<boolean> {
  const { rows } = await executor.query('select from sessions where publisher_id = $1 limit 1', [publisherId]);
  return rows.length > 0;
}

const insertUnlessOptedOutSql = `
with ${optedOut(sessionValuesCount + 1)}, written as (
  insert into sessions (${sessionColumns})
  ${givenSessionsSql}
  where not exists (select from opted_out where opted_out.user_key = given.user_key)
)
select user_key, opt_outs from opted_out`;

/*
 * As above, with reservations of slices: all that grant them must still exist, or nothing is written. Their rows are
 * locked in the order of their ids, which avoids deadlocks. Those of sessions that are not inserted stay in the slice.
 */
const slicesAt = sessionValuesCount + 2;
const areHeld = slicesAreHeld(slicesAt);
const insertReservedSql = `
with ${optedOut(sessionValuesCount + 1)}, ${reserveFromSlices(slicesAt)}, written as (
  insert into sessions (${sessionColumns})
  ${givenSessionsSql}
  where ${areHeld} and not exists (select from opted_out where opted_out.user_key = given.user_key)
)
select user_key, opt_outs, ${areHeld} as written from (select) one left join opted_out on true`;

/**
 * Inserts the sessions of users who have opted out of nothing, with what they reserve of slices, in one statement.
 * @returns the opt-outs of the other users, whose sessions are not inserted; and whether anything was written: a slice
 *   may have been returned by another process
 */
export async function insertUnlessOptedOut(
  executor: Executor,
  sessions: readonly SessionRecord[],
  reservations: readonly Reservation[],
): Promise<{ written: boolean; optOuts: Map<string, OptOuts> }> {
  const userKeys = sessions.flatMap(({ userKey }) => userKey ?? []);
  const values = [...sessionValues(sessions), uuids(userKeys, (key) => key)];
  if (reservations.length === 0) {
    const { rows } = await executor.query<OptOutRow>({
      name: 'insert_unless_opted_out',
      text: insertUnlessOptedOutSql,
      values,
    });
    return { written: true, optOuts: optOutsOf(rows) };
  }
  const reserved = reservedBySession(reservations);
  const sliceIds = [...new Set(reservations.flatMap(({ sliceId }) => sliceId ?? []))];
  const { rows } = await executor.query<{ written: boolean } & (OptOutRow | NoRow)>({
    name: 'insert_reserved',
    text: insertReservedSql,
    values: [
      ...values,
      uuids(sliceIds, (id) => id),
      uuids(sessions, ({ id }) => id),
      uuids(sessions, ({ userKey }) => userKey),
      texts(sessions, ({ id }) => reserved.get(id) ?? null),
      uuids(reservations, ({ sessionId }) => sessionId),
      uuids(reservations, ({ sliceId }) => sliceId),
      smallints(reservations, ({ impressions }) => impressions),
      bigints(reservations, ({ micros }) => micros),
    ],
  });
  return {
    written: rows[0]?.written === true,
    optOuts: optOutsOf(rows.filter((row): row is { written: boolean } & OptOutRow => row.user_key !== null)),
  };
}

type NoRow = { user_key: null; opt_outs: null };
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
