import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import type { Effect, Message, Note, Refusal } from './message.ts';

/**
 * Time for which the IDs of received events are stored for deduplication, in milliseconds. Segment retries for only
 * four hours.
 */
const eventsKeptMs = 7 * dayMs;

/**
 * Time for which the last change time of each value is stored, in milliseconds. It is needed to detect events that
 * arrive late.
 */
const momentsKeptMs = 180 * dayMs;

/** Maximum number of events shown on the page and returned by the API. */
const shownEvents = 100;

/** Result of one effect of an event. */
export type EffectResult =
  | 'done'
  | 'superseded'
  | 'invalid'
  | 'type_changed'
  | 'too_many'
  | 'unknown'
  | 'has_rule'
  | 'refused'
  | 'too_old';

/** Effect as stored, without its value. */
export type StoredEffect = { kind: Effect['kind']; name: string; result: EffectResult };

/**
 * Result of an event. `ignored` means that no setting matches the event. `superseded` means that a newer event has
 * changed the same value.
 */
export type EventResult = 'applied' | 'partly' | 'ignored' | 'superseded' | 'refused';

export type SourceEvent = {
  messageId: string;
  receivedAt: Date;
  sentAt: Date;
  type: string;
  name: string;
  result: EventResult;
  refusal: Refusal | null;
  effects: StoredEffect[];
  notes: Note[];
  times: number;
};

/** Event with its user key. The key is null if the event has no user. */
export type Keyed = { message: Message; userKey: string | null };

/**
 * Records received events in event ID order. For a repeated event, increments its counter instead.
 * @returns the new events
 */
export async function noteEvents(
  executor: Executor,
  publisherId: number,
  events: readonly Keyed[],
  nowMs: number,
): Promise<Keyed[]> {
  const counts = new Map<string, { first: Keyed; times: number }>();
  for (const event of events) {
    const id = event.message.messageId ?? `none ${newUuid7(nowMs)}`;
    const counted = counts.get(id);
    if (counted === undefined) counts.set(id, { first: event, times: 1 });
    else counted.times += 1;
  }
  const rows = [...counts].map(
    ([
      messageId,
      {
        first: { message, userKey },
        times,
      },
    ]) => ({
      message_id: messageId,
      user_key: userKey,
      sent_at: new Date(message.atMs),
      type: message.type,
      name: message.name,
      refusal: message.refusal,
      times,
      result: message.refusal === null ? 'ignored' : 'refused',
      notes: message.notes,
    }),
  );
  const { rows: noted } = await executor.query<{ message_id: string; is_new: boolean }>(
    `insert into source_events as known
      (publisher_id, message_id, user_key, received_at, sent_at, type, name, result, refusal, times, notes)
    select $1::integer, message_id, user_key, $2::timestamptz, sent_at, type, name, result, refusal, times, notes
    from jsonb_to_recordset($3::jsonb) as given (message_id text, user_key uuid, sent_at timestamptz, type text,
      name text, result text, refusal text, times integer, notes jsonb)
    order by message_id
    on conflict (publisher_id, message_id) do update set times = known.times + excluded.times
    returning message_id, xmax = 0 as is_new`,
    [publisherId, new Date(nowMs), JSON.stringify(rows)],
  );
  return noted.flatMap(({ message_id: id, is_new: isNew }) => {
    const first = counts.get(id)?.first;
    return isNew && first !== undefined ? [first] : [];
  });
}

/** Stores the results of events. */
export async function noteResults(
  executor: Executor,
  publisherId: number,
  results: readonly { messageId: string; result: EventResult; effects: readonly StoredEffect[] }[],
): Promise<void> {
  if (results.length === 0) return;
  await executor.query(
    `update source_events known set result = given.result, effects = given.effects
    from jsonb_to_recordset($2::jsonb) as given ("messageId" text, result text, effects jsonb)
    where known.publisher_id = $1 and known.message_id = given."messageId"`,
    [publisherId, JSON.stringify(results)],
  );
}

/** Change to a user's attribute or audience (`subject`), with the time of the change. */
export type ReportedChange = { userKey: string; subject: string; atMs: number };

/**
 * Stores the change times and filters out outdated changes.
 * @returns keys (`changeKey`) of the changes that are not older than earlier changes of the same subject
 */
export async function storeNewest(
  executor: Executor,
  statements: readonly ReportedChange[],
  nowMs: number,
): Promise<Set<string>> {
  if (statements.length === 0) return new Set();
  const { rows } = await executor.query<{ user_key: string; subject: string }>(
    `insert into source_moments as known (user_key, subject, at, written_at)
    select user_key, subject, to_timestamp(at_ms / 1000), $2::timestamptz
    from jsonb_to_recordset($1::jsonb) as given ("userKey" uuid, subject text, "atMs" float8),
      lateral (select "userKey" as user_key, "atMs" as at_ms) named
    order by user_key, subject
    on conflict (user_key, subject) do update set at = excluded.at, written_at = excluded.written_at
      where known.at <= excluded.at
    returning user_key, subject`,
    [JSON.stringify(statements), new Date(nowMs)],
  );
  return new Set(rows.map(({ user_key: userKey, subject }) => changeKey({ userKey, subject })));
}

export const changeKey = ({ userKey, subject }: { userKey: string; subject: string }): string =>
  `${userKey} ${subject}`;

/** Lists the latest events of a publisher's source, newest first. */
export async function listEvents(executor: Executor, publisherId: number): Promise<SourceEvent[]> {
  const { rows } = await executor.query<SourceEvent>(
    `select message_id as "messageId", received_at as "receivedAt", sent_at as "sentAt", type, name, result, refusal,
      effects, notes, times
    from source_events where publisher_id = $1
    order by received_at desc, sent_at desc, message_id limit ${shownEvents}`,
    [publisherId],
  );
  return rows;
}

export async function deleteOldEvents(executor: Executor, nowMs: number): Promise<number> {
  await executor.query('delete from source_moments where written_at < $1', [new Date(nowMs - momentsKeptMs)]);
  const { rowCount } = await executor.query('delete from source_events where received_at < $1', [
    new Date(nowMs - eventsKeptMs),
  ]);
  return rowCount ?? 0;
}

/** Removes the user keys from the stored events. The event IDs remain, so that repeated events are still ignored. */
export async function eraseEvents(executor: Executor, userKeys: readonly string[]): Promise<void> {
  await executor.query('update source_events set user_key = null where user_key = any($1::uuid[])', [userKeys]);
  await executor.query('delete from source_moments where user_key = any($1::uuid[])', [userKeys]);
}
