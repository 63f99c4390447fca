import type { Registry } from 'prom-client';
import { type EventKind, eventKinds, ownKind } from '../catalog/event-kinds.ts';
import { type PerkEvent, type StoredEvent, suspicions, type TrackedEvent } from '../catalog/types.ts';
import { bigints, dates, integers, smallints, texts, timestamps, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { registerCounts } from '../platform/metrics/metrics.ts';
import type { TokenClaims } from '../platform/security/tracking-token.ts';

/** Columns of `events` that a statement inserts, in the same order as in `rowsSql`. */
export const eventColumns =
  'day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, suspicious, revenue_micros, currency';

/**
 * Builds the rows of a batch from one array per column. The arrays are in the select list, where PostgreSQL unnests
 * them in lockstep. In the FROM clause, it would first copy each array to a tuplestore.
 */
export const rowsSql = `
  select unnest($1::date[]) as day, unnest($2::uuid[]) as session_id, unnest($3::integer[]) as offer_id,
    unnest($4::text[]) as kind, unnest($5::integer[]) as publisher_id, unnest($6::integer[]) as campaign_id,
    unnest($7::smallint[]) as position, unnest($8::timestamptz[]) as at, unnest($9::text[]) as suspicious,
    unnest($10::bigint[]) as revenue_micros, unnest($11::text[]) as currency`;

/**
 * Every batch inserts its rows in primary key order, so that two batches with the same events cannot deadlock. A batch
 * that conflicts with an uncommitted event waits for that event's transaction, which also delays the responses to its
 * requests. The session determines the day, so sorting by session also sorts by day.
 */
const keyOrder = 'order by session_id, offer_id, kind';

/** Builds the event for a perk action in a session. Must not be called for dev sessions. */
export const perkEvent = (
  kind: PerkEvent['kind'],
  claims: TokenClaims & { sessionId: string },
  atMs: number,
): PerkEvent => ({ kind, claims, sessionId: claims.sessionId, atMs, suspicious: null, revenueMicros: 0 });

type AnyEvent = StoredEvent<EventKind>;

/** Returns the parameters of `rowsSql`. */
export const rowValues = (events: readonly AnyEvent[]): Values => [
  dates(events, ({ sessionId }) => timeOfUuid7(sessionId)),
  uuids(events, ({ sessionId }) => sessionId),
  integers(events, ({ claims }) => claims.offerId),
  texts(events, ({ kind, name }) => (name === undefined ? kind : ownKind(name))),
  integers(events, ({ claims }) => claims.publisherId),
  integers(events, ({ claims }) => claims.campaignId),
  smallints(events, ({ claims }) => claims.position),
  timestamps(events, ({ atMs }) => atMs),
  texts(events, ({ suspicious }) => suspicious),
  bigints(events, ({ revenueMicros }) => revenueMicros || null),
  texts(events, ({ revenueMicros, currency }) => (revenueMicros === 0 ? null : (currency ?? null))),
];

/** Returns the days of the sessions in a batch. With this list, the planner skips all other partitions. */
export const daysOf = (events: readonly { sessionId: string }[]): string[] => [
  ...new Set(events.map(({ sessionId }) => dayOfUuid7(sessionId))),
];

/** Parameter values of an SQL statement. */
export type Values = (Buffer | string[])[];

/** Event that was stored for the first time and is not suspicious. */
export type NewEvent = { session_id: string; offer_id: number; kind: string };

/**
 * Runs an insert statement that returns its rows.
 * @param onStored called for each row with the reason why it is suspicious, or null
 * @returns the rows that are not suspicious
 */
export async function insertReturningNew(
  executor: Executor,
  statement: { name: string; text: string; values: Values },
  onStored: (suspicion: string | null) => void = () => {},
): Promise<NewEvent[]> {
  const { rows } = await executor.query<NewEvent & { suspicious: string | null }>({
    ...statement,
    text: `${statement.text} returning session_id, offer_id, kind, suspicious`,
  });
  for (const { suspicious } of rows) onStored(suspicious);
  return rows.filter(({ suspicious }) => suspicious === null);
}

const firstEventsSql = `
insert into events (${eventColumns})
select ${eventColumns} from (${rowsSql}) as given
${keyOrder}`;

const eventsSql = `${firstEventsSql}
on conflict do nothing`;

/**
 * Returns SQL that stores the events in `rowValues` for which a condition is true. Events that are already stored stay
 * unchanged. It is meant for use within larger statements.
 */
export const insertEventsSql = (condition: string): string => `
insert into events (${eventColumns})
select ${eventColumns} from (${rowsSql}) as given
where ${condition}
${keyOrder}
on conflict do nothing`;

/**
 * Stores events that need no session data. They are deduplicated by primary key: if an event is already stored, it
 * stays unchanged.
 */
export async function insertEvents(executor: Executor, events: readonly (TrackedEvent | PerkEvent)[]): Promise<void> {
  await executor.query({ name: 'insert_events', text: eventsSql, values: rowValues(events) });
}

const unbilledSql = `
update events set revenue_micros = null, unbilled_micros = revenue_micros
from unnest($1::date[], $2::uuid[], $3::integer[], $4::text[]) as given (day, session_id, offer_id, kind)
where events.day = any($5::date[]) and events.day = given.day and events.session_id = given.session_id
  and events.offer_id = given.offer_id and events.kind = given.kind`;

/** Marks events that no longer fit into a budget as unbilled. They must have been stored in the same transaction. */
export async function markUnbilled(
  executor: Executor,
  events: readonly { sessionId: string; offerId: number; kind: string }[],
): Promise<void> {
  const values = [
    dates(events, ({ sessionId }) => timeOfUuid7(sessionId)),
    uuids(events, ({ sessionId }) => sessionId),
    integers(events, ({ offerId }) => offerId),
    texts(events, ({ kind }) => kind),
    daysOf(events),
  ];
  await executor.query({ name: 'mark_unbilled_events', text: unbilledSql, values });
}

/**
 * Stores events that must be new and unique. If any event already exists, the statement fails with 23505 and stores
 * nothing.
 */
export async function insertFirstEvents(executor: Executor, events: readonly TrackedEvent[]): Promise<void> {
  await executor.query({ name: 'insert_first_events', text: firstEventsSql, values: rowValues(events) });
}

/**
 * Stores events like `insertEvents`.
 * @returns the events that are new and not suspicious
 */
export const insertNewEvents = (executor: Executor, events: readonly TrackedEvent[]): Promise<NewEvent[]> =>
  insertReturningNew(executor, { name: 'insert_new_events', text: eventsSql, values: rowValues(events) });

type CountedKind = EventKind | 'conversion';

/** Counts stored events by kind and by the reason why they are suspicious, which is null for valid events. */
export type EventMeter = { recorded: (kind: CountedKind, suspicion: string | null, events?: number) => void };

export function createEventMeter(registry: Registry): EventMeter {
  const lineOf = registerCounts(registry, {
    name: 'perkwire_events_total',
    help: 'Number of recorded events, by kind and reason for suspicion. Of repeats, only beacons are counted.',
    labelNames: ['kind', 'suspicion'],
  });
  for (const kind of [...Object.keys(eventKinds), 'conversion']) lineOf(kind, 'none');
  for (const suspicion of suspicions) lineOf('click', suspicion);
  return {
    recorded: (kind, suspicion, events = 1) => {
      lineOf(kind, suspicion ?? 'none').value += events;
    },
  };
}
