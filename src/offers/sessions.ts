import type pg from 'pg';
import type { OptOuts } from '../budgets/caps.ts';
import { appendSql, appendValues, type OpenHistory } from '../budgets/history.ts';
import { type OptOutRow, optedOut, optOutsOf } from '../budgets/opt-outs.ts';
import { type Reservation, reservedBySession, reserveFromSlices, slicesAreHeld } from '../budgets/reservations.ts';
import type { Offer } from '../catalog/types.ts';
import {
  type BinaryArray,
  bigints,
  booleans,
  dates,
  integers,
  smallints,
  texts,
  timestamps,
  uuids,
} from '../platform/db/binary-array.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { changeSessions } from '../reports/corrections.ts';
import { writeDecisionRecord } from './fetch/decide-session.ts';
import type { SessionRecord } from './session-record.ts';

/** A column of `sessions`, as a typed array of a batch. */
type Column = { name: string; type: string; array: (sessions: readonly SessionRecord[]) => Buffer };

const column = <Value>(
  name: string,
  type: string,
  arrayOf: BinaryArray<Value>,
  pick: (session: SessionRecord) => Value | null,
): Column => ({ name, type, array: (sessions) => arrayOf(sessions, pick) });

const columns: readonly Column[] = [
  column('day', 'date', dates, ({ id }) => timeOfUuid7(id)),
  column('id', 'uuid', uuids, ({ id }) => id),
  column('publisher_id', 'integer', integers, ({ publisherId }) => publisherId),
  column('placement', 'text', texts, ({ placement }) => placement),
  column('theme_id', 'integer', integers, ({ themeId }) => themeId),
  column('language', 'text', texts, ({ language }) => language),
  column('user_key', 'uuid', uuids, ({ userKey }) => userKey),
  column('pub_user_id', 'text', texts, ({ pubUserId }) => pubUserId),
  column('country', 'text', texts, ({ client }) => client.country),
  column('device', 'text', texts, ({ client }) => client.device),
  column('os', 'text', texts, ({ client }) => client.os),
  column('empty_reason', 'text', texts, ({ emptyReason }) => emptyReason),
  column('decision', 'text', texts, ({ decision }) => writeDecisionRecord(decision)),
  column('dev', 'boolean', booleans, ({ dev }) => dev),
  column('usp', 'boolean', booleans, ({ usp }) => usp),
  column('usp_check_all', 'boolean', booleans, ({ uspCheckAll }) => uspCheckAll),
  column('created_at', 'timestamptz', timestamps, ({ createdAtMs }) => createdAtMs),
];

const jsonColumns: readonly Column[] = [
  column('custom', 'text', texts, ({ custom }) =>
    custom.size === 0 ? null : JSON.stringify(Object.fromEntries(custom)),
  ),
  column('macros', 'text', texts, ({ macros }) => (Object.keys(macros).length === 0 ? null : JSON.stringify(macros))),
];

/**
 * The offers of a whole batch form one array. Those of a session are the elements from `first_offer` to `last_offer`.
 */
const rangeColumns = ['first_offer', 'last_offer'];
const offerColumns = ['offer_ids', 'campaign_ids'];

const parameterColumns = [...columns, ...jsonColumns];
const names = (of: readonly Column[]): string => of.map(({ name }) => name).join(', ');
const arrayParameters = [...parameterColumns.map(({ type }) => type), ...rangeColumns.map(() => 'integer')]
  .map((type, index) => `$${index + 1}::${type}[]`)
  .join(', ');
const firstOfferParameter = parameterColumns.length + rangeColumns.length + 1;
const offerRanges = offerColumns
  .map((_name, index) => `($${firstOfferParameter + index}::integer[])[first_offer:last_offer]`)
  .join(', ');

const sessionColumns = `${names(columns)}, ${names(jsonColumns)}, ${offerColumns.join(', ')}`;

/** Query for the rows of `sessionValues` with their columns, named `given`. */
const givenSessionsSql = `
select ${names(columns)}, ${jsonColumns.map(({ name }) => `${name}::jsonb`).join(', ')}, ${offerRanges}
from unnest(${arrayParameters}) as given (${names(parameterColumns)}, ${rangeColumns.join(', ')})`;

const sessionValuesCount = firstOfferParameter + offerColumns.length - 1;

function sessionValues(sessions: readonly SessionRecord[]): Buffer[] {
  const offers: Offer[] = [];
  const ranges = sessions.map((session) => {
    const first = offers.length + 1;
    offers.push(...session.offers);
    return { first, last: offers.length };
  });
  return [
    ...parameterColumns.map(({ array }) => array(sessions)),
    integers(ranges, ({ first }) => first),
    integers(ranges, ({ last }) => last),
    integers(offers, ({ id }) => id),
    integers(offers, ({ campaign }) => campaign.id),
  ];
}

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
 * Inserts, in one statement, the sessions and reservations of users whose histories have not been written since they
 * were read.
 * @param histories histories that get reservations
 * @returns the keys of the other users, for whom nothing is written
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

/**
 * The same with reservations of slices. All slices must still exist, or nothing is written. Their rows are locked in
 * the order of their ids, which avoids deadlocks. Reservations of sessions that are not inserted stay in the slice.
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

/** Most users have no opt-outs. */
const noOptOuts: ReadonlyMap<string, OptOuts> = new Map();

/**
 * Inserts, in one statement, the sessions of users without opt-outs, with their reservations of slices.
 * @returns the opt-outs of the other users, whose sessions are not inserted, and whether anything was written, because
 * another process may have returned a slice
 */
export async function insertUnlessOptedOut(
  executor: Executor,
  sessions: readonly SessionRecord[],
  reservations: readonly Reservation[],
): Promise<{ written: boolean; optOuts: ReadonlyMap<string, OptOuts> }> {
  const userKeys = sessions.flatMap(({ userKey }) => userKey ?? []);
  const values = [...sessionValues(sessions), uuids(userKeys, (key) => key)];
  if (reservations.length === 0) {
    const { rows } = await executor.query<OptOutRow>({
      name: 'insert_unless_opted_out',
      text: insertUnlessOptedOutSql,
      values,
    });
    return { written: true, optOuts: rows.length === 0 ? noOptOuts : optOutsOf(rows) };
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
