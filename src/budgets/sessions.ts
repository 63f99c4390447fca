import { bigints, booleans, byteas, dates, integers, texts, timestamps, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import { timeOfUuid7 } from '../platform/lib/uuid7.ts';
import type { OptOuts } from './caps.ts';
import type { OpenHistory } from './history/history.ts';
import { type Reservation, writeReserved } from './reservations/reservations.ts';
import { allHeldSql, spendSql, spentLeases, spentValues } from './slices/rows.ts';

/*
 * Statements that store sessions. They are here because most of them check or change histories, slices and reservations
 * in the same round trip. Parameters $1 to $23 are those of `sessionValues`.
 */

/** Row of `sessions`. */
export type SessionRow = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  /** Requested language tags, separated by commas, or null if the fetch requested no language. */
  language: string | null;
  userKey: string | null;
  pubUserId: string | null;
  client: { country: string | null; device: string | null; os: string | null };
  /** Shown offers, in display order. */
  offers: readonly { id: number; campaign: { id: number } }[];
  /** Reason why no offer is shown. Null if at least one offer is shown. */
  emptyReason: string | null;
  /** Decision record, as JSON. */
  decision: string;
  /** Custom attributes of the fetch. */
  custom: ReadonlyMap<string, string>;
  macros: Readonly<Record<string, string>>;
  dev: boolean;
  usp: boolean;
  uspCheckAll: boolean;
  createdAtMs: number;
};

// The offers of all sessions are passed as one array. `first_offer` and `last_offer` are a session's range in this
// array.
const insertSql = `
insert into sessions (day, id, publisher_id, placement, theme_id, language, user_key, pub_user_id, country, device, os,
  empty_reason, decision, dev, usp, usp_check_all, created_at, custom, macros, offer_ids, campaign_ids)
select day, id, publisher_id, placement, theme_id, language, user_key, pub_user_id, country, device, os,
  empty_reason, decision, dev, usp, usp_check_all, created_at, custom::jsonb, macros::jsonb,
  ($22::integer[])[first_offer:last_offer], ($23::integer[])[first_offer:last_offer]
from unnest($1::date[], $2::uuid[], $3::integer[], $4::text[], $5::integer[], $6::text[], $7::uuid[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::boolean[], $15::boolean[], $16::boolean[],
    $17::timestamptz[], $18::text[], $19::text[], $20::integer[], $21::integer[])
  as given (day, id, publisher_id, placement, theme_id, language, user_key, pub_user_id, country, device, os,
    empty_reason, decision, dev, usp, usp_check_all, created_at, custom, macros, first_offer, last_offer)`;

function sessionValues(sessions: readonly SessionRow[]): Buffer[] {
  const offers: SessionRow['offers'][number][] = [];
  const ranges = sessions.map((session) => {
    const first = offers.length + 1;
    offers.push(...session.offers);
    return { first, last: offers.length };
  });
  return [
    dates(sessions, ({ id }) => timeOfUuid7(id)),
    uuids(sessions, ({ id }) => id),
    integers(sessions, ({ publisherId }) => publisherId),
    texts(sessions, ({ placement }) => placement),
    integers(sessions, ({ themeId }) => themeId),
    texts(sessions, ({ language }) => language),
    uuids(sessions, ({ userKey }) => userKey),
    texts(sessions, ({ pubUserId }) => pubUserId),
    texts(sessions, ({ client }) => client.country),
    texts(sessions, ({ client }) => client.device),
    texts(sessions, ({ client }) => client.os),
    texts(sessions, ({ emptyReason }) => emptyReason),
    texts(sessions, ({ decision }) => decision),
    booleans(sessions, ({ dev }) => dev),
    booleans(sessions, ({ usp }) => usp),
    booleans(sessions, ({ uspCheckAll }) => uspCheckAll),
    timestamps(sessions, ({ createdAtMs }) => createdAtMs),
    texts(sessions, ({ custom }) => (custom.size === 0 ? null : JSON.stringify(Object.fromEntries(custom)))),
    texts(sessions, ({ macros }) => (Object.keys(macros).length === 0 ? null : JSON.stringify(macros))),
    integers(ranges, ({ first }) => first),
    integers(ranges, ({ last }) => last),
    integers(offers, ({ id }) => id),
    integers(offers, ({ campaign }) => campaign.id),
  ];
}

/** Inserts many sessions in one statement. */
export async function insertSessions(executor: Executor, sessions: readonly SessionRow[]): Promise<void> {
  await executor.query({ name: 'insert_sessions', text: insertSql, values: sessionValues(sessions) });
}

/*
 * Appends records to the histories that have not been written since they were read. A history that was deleted in the
 * meantime starts empty. Users are locked in key order, as in all other statements.
 */
const insertUnlessChangedSql = `
with appended as (
  insert into user_history as known (user_key, publisher_id, exposures, updated_at)
  select user_key, publisher_id, exposures, to_timestamp($28::float8)
  from unnest($24::uuid[], $25::integer[], $26::bytea[]) as given (user_key, publisher_id, exposures)
  order by user_key
  on conflict (user_key) do update set
    exposures = known.exposures || excluded.exposures, updated_at = greatest(known.updated_at, excluded.updated_at)
  where (known.user_key, known.xmin::text::bigint) in (select unnest($24::uuid[]), unnest($27::bigint[]))
  returning user_key
), missed as (
  select unnest($24::uuid[]) as user_key except select user_key from appended
), written as (
  ${insertSql}
  where not exists (select from missed where missed.user_key = given.user_key)
)
select user_key from missed`;

/**
 * Inserts the sessions and reservations of users whose histories have not changed since they were read.
 * @param histories histories to which the reservations are added
 * @returns the keys of all other users, for whom nothing is inserted
 */
export async function insertUnlessChanged(
  executor: Executor,
  sessions: readonly SessionRow[],
  histories: readonly OpenHistory[],
  nowMs: number,
): Promise<Set<string>> {
  const { rows } = await executor.query<{ user_key: string }>({
    name: 'insert_unless_changed',
    text: insertUnlessChangedSql,
    values: [
      ...sessionValues(sessions),
      uuids(histories, ({ userKey }) => userKey),
      integers(histories, ({ publisherId }) => publisherId),
      byteas(histories, ({ added }) => Buffer.concat(added)),
      bigints(histories, ({ version }) => version),
      nowMs / 1000,
    ],
  });
  return new Set(rows.map((row) => row.user_key));
}

/** SQL that selects the users in $24 who have opted out of a campaign. */
const optedOutSql = `
opted_out as (select user_key, opt_outs from user_history where user_key = any($24::uuid[]) and opt_outs <> '{}')`;

const insertUnlessOptedOutSql = `
with ${optedOutSql}, written as (
  ${insertSql}
  where not exists (select from opted_out where opted_out.user_key = given.user_key)
)
select user_key, opt_outs from opted_out`;

/** SQL condition that all slices that granted the reservations still exist. */
const areHeldSql = allHeldSql(25);

/*
 * Like `insertUnlessOptedOutSql`, but also inserts the reservations granted from leased slices. If one of the slices no
 * longer exists, nothing is written. Reservations of users with opt-outs are inserted without their sessions, and
 * released like those of sessions without events. The amounts can therefore be added up before, for all sessions.
 */
const insertReservedSql = `
with ${optedOutSql}, ${spendSql(25)}, reserved as (
  insert into cap_reservations (session_id, reserved)
  select session_id, reserved from unnest($2::uuid[], $30::text[]) as session (session_id, reserved)
  where reserved is not null and ${areHeldSql}
), written as (
  ${insertSql}
  where ${areHeldSql} and not exists (select from opted_out where opted_out.user_key = given.user_key)
)
select user_key, opt_outs, ${areHeldSql} as written from (select) as one left join opted_out on true`;

type OptOutRow = { user_key: string; opt_outs: OptOuts };
type NoOptOutRow = { user_key: null; opt_outs: null };

/** Shared empty map, because most users have no opt-outs. */
const noOptOuts: ReadonlyMap<string, OptOuts> = new Map();

const optOutsOf = (rows: readonly (OptOutRow | NoOptOutRow)[]): ReadonlyMap<string, OptOuts> =>
  new Map(rows.flatMap((row) => (row.user_key === null ? [] : [[row.user_key, row.opt_outs]])));

/**
 * Inserts the sessions of users without opt-outs, and the reservations of all sessions from leased slices.
 * @param reservations reservations of each session
 * @returns the opt-outs of all other users, whose sessions are not inserted; if another process has returned one of the
 * slices, nothing is inserted and `written` is false
 */
export async function insertUnlessOptedOut(
  executor: Executor,
  sessions: readonly SessionRow[],
  reservations: readonly (readonly Reservation[])[],
): Promise<{ written: boolean; optOuts: ReadonlyMap<string, OptOuts> }> {
  const userKeys = sessions.flatMap(({ userKey }) => userKey ?? []);
  const values = [...sessionValues(sessions), uuids(userKeys, (key) => key)];
  const spent = spentLeases(reservations.flat());
  if (spent.length === 0) {
    const { rows } = await executor.query<OptOutRow>({
      name: 'insert_unless_opted_out',
      text: insertUnlessOptedOutSql,
      values,
    });
    return { written: true, optOuts: rows.length === 0 ? noOptOuts : optOutsOf(rows) };
  }
  const reserved = texts(reservations, (ofSession) => (ofSession.length === 0 ? null : writeReserved(ofSession)));
  const { rows } = await executor.query<{ written: boolean } & (OptOutRow | NoOptOutRow)>({
    name: 'insert_reserved',
    text: insertReservedSql,
    values: [...values, ...spentValues(spent), reserved],
  });
  return { written: rows[0]?.written === true, optOuts: optOutsOf(rows) };
}
