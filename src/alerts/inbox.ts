import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { type FailedAttempt, readFailedAttempts } from '../webhooks/last-failure.ts';
import { type Alert, type AlertKind, failedAttemptOf } from './kinds.ts';

/** Message of an alert to one recipient. `channel` is null for an e-mail. */
export type AlertMessage = {
  channel: string | null;
  state: 'sent' | 'failed' | 'waiting';
  /** Stored reason why the last attempt failed, or null. */
  error: string | null;
};

/** Period in which an alert is muted. */
export type Mute = { until: Date; by: string; note: string };

/** Alert in a user's inbox. `failure` is the attempt that an alert about an endpoint refers to, if still stored. */
export type InboxAlert = Alert & {
  isNew: boolean;
  mute: Mute | null;
  failure: FailedAttempt | null;
  messages: readonly AlertMessage[];
};

type AlertRow = {
  id: string;
  publisher_id: number;
  kind: Alert['kind'];
  subject: string;
  data: Record<string, unknown>;
  raised_at: Date;
  ended_at: Date | null;
  is_new: boolean;
  muted_until: Date | null;
  muted_by: string | null;
  note: string | null;
  messages: AlertMessage[];
};

type Reader = { publisherId: number; userId: number };

export type AlertQuery = {
  /** Kind of the alerts to list, or null for all kinds. */
  kind: AlertKind | null;
  /** ID of the alert before which to start, or null for the newest alerts. */
  beforeId: number | null;
  limit: number;
};

/** Returns an alert of a publisher, or null if it does not exist. */
export async function findAlert(
  executor: Executor,
  reader: Reader,
  id: number,
  nowMs: number,
): Promise<InboxAlert | null> {
  const [alert] = await listAlerts(executor, reader, { kind: null, beforeId: id + 1, limit: 1 }, nowMs);
  return alert?.id === id ? alert : null;
}

/** Maximum number of listed alerts about the same problem. */
const maxSimilar = 10;

/** Lists the other alerts of the same kind and subject, newest first. */
export async function listSimilar(
  executor: Executor,
  { publisherId, kind, subject, id }: Alert,
): Promise<{ id: number; raisedAt: Date; endedAt: Date | null }[]> {
  const { rows } = await executor.query<{ id: string; raisedAt: Date; endedAt: Date | null }>(
    `select id, raised_at as "raisedAt", ended_at as "endedAt" from alerts
    where publisher_id = $1 and kind = $2 and subject = $3 and id <> $4 order by id desc limit ${maxSimilar}`,
    [publisherId, kind, subject, id],
  );
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
}

const messageState = `case when x.sent_at is not null then 'sent' when x.next_attempt_at is not null then 'waiting'
  when x.error is null then 'sent' else 'failed' end`;

/** Lists a publisher's alerts, newest first, with their unread state for a user and the messages that were sent. */
export async function listAlerts(
  executor: Executor,
  reader: Reader,
  { kind, beforeId, limit }: AlertQuery,
  nowMs: number,
): Promise<InboxAlert[]> {
  const { rows } = await executor.query<AlertRow>({
    name: 'list_alerts',
    text: `select a.id, a.publisher_id, a.kind, a.subject, a.data, a.raised_at, a.ended_at,
      a.id > coalesce(r.read_until, 0) as is_new, m.until as muted_until, m.muted_by, m.note,
      coalesce((
        select json_agg(json_build_object('channel', case when l.user_id is null then l.name end,
          'state', ${messageState}, 'error', x.error) order by l.user_id nulls last, l.name)
        from alert_messages x join alert_rules l on l.id = x.rule_id where x.alert_id = a.id
      ), '[]') as messages
    from alerts a
    left join alert_readers r on r.publisher_id = a.publisher_id and r.user_id = $2
    left join alert_mutes m
      on (m.publisher_id, m.kind, m.subject) = (a.publisher_id, a.kind, a.subject) and m.until > $3
    where a.publisher_id = $1 and ($4::text is null or a.kind = $4) and ($5::bigint is null or a.id < $5)
    order by a.id desc limit $6`,
    values: [reader.publisherId, reader.userId, new Date(nowMs), kind, beforeId, limit],
  });
  const keys = rows.flatMap((row) => failedAttemptOf(row.publisher_id, row.data) ?? []);
  const failureOf = await readFailedAttempts(executor, keys);
  return rows.map((row) => ({
    id: Number(row.id),
    publisherId: row.publisher_id,
    kind: row.kind,
    subject: row.subject,
    data: row.data,
    raisedAt: row.raised_at,
    endedAt: row.ended_at,
    isNew: row.is_new,
    mute: row.muted_until && { until: row.muted_until, by: row.muted_by ?? '', note: row.note ?? '' },
    messages: row.messages,
    failure: failureOf(failedAttemptOf(row.publisher_id, row.data)),
  }));
}

/** Returns the number of alerts that a user has not read. */
export async function countNewAlerts(executor: Executor, { publisherId, userId }: Reader): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    name: 'count_new_alerts',
    text: `select count(*)::int as count from alerts where publisher_id = $1
      and id > coalesce((select read_until from alert_readers where publisher_id = $1 and user_id = $2), 0)`,
    values: [publisherId, userId],
  });
  return rows[0]?.count ?? 0;
}

/** Marks alerts as read, up to the newest one that the user has seen. */
export async function readAlerts(executor: Executor, { publisherId, userId }: Reader, untilId: number): Promise<void> {
  await executor.query(
    `insert into alert_readers as r (publisher_id, user_id, read_until)
    select $1, $2, coalesce(max(id), 0) from alerts where publisher_id = $1 and id <= $3
    on conflict (publisher_id, user_id) do update set read_until = greatest(r.read_until, excluded.read_until)`,
    [publisherId, userId, untilId],
  );
}

/** Maximum length of the reason for a mute, in characters. */
export const maxNoteLength = 200;

/** Maximum duration of a mute, in hours. */
export const maxMuteHours = 90 * 24;

/** ID that stands for all alerts of a publisher in paths. */
export const allAlerts = 'all' as const;

/** Mute of an alert, or of all alerts. `by` is the name of the user or API key. */
type NewMute = { publisherId: number; alertId: number | typeof allAlerts; untilMs: number; by: string; note: string };

/** Number of days for which the alerts of each kind are counted. */
export const recentDays = 30;

/**
 * Mutes alerts of the same kind and subject until a given time. A time in the past unmutes them.
 * @returns whether the alert exists
 */
export async function muteAlerts(
  executor: Executor,
  { publisherId, alertId, untilMs, by, note }: NewMute,
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await executor.query(
    `insert into alert_mutes (publisher_id, kind, subject, until, muted_by, note, muted_at)
    select muted.publisher_id, muted.kind, muted.subject, $3, $4, $5, $6 from (
      select publisher_id, kind, subject from alerts where publisher_id = $1 and id = $2::bigint
      union all select $1::integer, '*', '*' where $2::bigint is null
    ) muted
    on conflict (publisher_id, kind, subject) do update
      set (until, muted_by, note, muted_at) = (excluded.until, excluded.muted_by, excluded.note, excluded.muted_at)`,
    [publisherId, alertId === allAlerts ? null : alertId, new Date(untilMs), by, note, new Date(nowMs)],
  );
  return rowCount === 1;
}

/** Returns the mute of all alerts of a publisher, or null if they are not muted. */
export async function findMuteOfAll(executor: Executor, publisherId: number, nowMs: number): Promise<Mute | null> {
  const { rows } = await executor.query<Mute>(
    `select until, muted_by as by, note from alert_mutes
    where publisher_id = $1 and (kind, subject) = ('*', '*') and until > $2`,
    [publisherId, new Date(nowMs)],
  );
  return rows[0] ?? null;
}

/** Returns the number of alerts of each kind in the last 30 days. */
export async function countRecentAlerts(
  executor: Executor,
  publisherId: number,
  nowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await executor.query<{ kind: string; count: number }>(
    `select kind, count(*)::int as count from alerts where publisher_id = $1 and raised_at > $2 group by kind`,
    [publisherId, new Date(nowMs - recentDays * dayMs)],
  );
  return new Map(rows.map(({ kind, count }) => [kind, count]));
}

const keptDays = 90;

/**
 * Deletes alerts after 90 days, along with their messages.
 * @returns number of deleted alerts
 */
export async function deleteOldAlerts(executor: Executor, nowMs: number): Promise<number> {
  const { rowCount } = await executor.query('delete from alerts where raised_at < $1', [
    new Date(nowMs - keptDays * dayMs),
  ]);
  await executor.query('delete from alert_mutes where until < $1', [new Date(nowMs)]);
  return rowCount ?? 0;
}
