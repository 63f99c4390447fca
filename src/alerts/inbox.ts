import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { type FailedAttempt, readFailedAttempts } from '../webhooks/last-failure.ts';
import { type Alert, failedAttemptOf } from './kinds.ts';

/** Alert in a user's inbox. `failure` is the attempt that an alert about an endpoint refers to, if still stored. */
export type InboxAlert = Alert & { isNew: boolean; mutedUntil: Date | null; failure: FailedAttempt | null };

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
};

type Reader = { publisherId: number; userId: number };

/** Maximum number of alerts per page. */
const shownAlerts = 100;

/** Lists a publisher's newest alerts, with their unread state for a user. */
export async function listAlerts(executor: Executor, reader: Reader, nowMs: number): Promise<InboxAlert[]> {
  const { rows } = await executor.query<AlertRow>({
    name: 'list_alerts',
    text: `select a.id, a.publisher_id, a.kind, a.subject, a.data, a.raised_at, a.ended_at,
      a.id > coalesce(r.read_until, 0) as is_new, m.until as muted_until
    from alerts a
    left join alert_readers r on r.publisher_id = a.publisher_id and r.user_id = $2
    left join alert_mutes m
      on (m.publisher_id, m.kind, m.subject) = (a.publisher_id, a.kind, a.subject) and m.until > $3
    where a.publisher_id = $1 order by a.id desc limit ${shownAlerts}`,
    values: [reader.publisherId, reader.userId, new Date(nowMs)],
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
    mutedUntil: row.muted_until,
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

/**
 * Mutes alerts of the same kind and subject until a given time. A time in the past unmutes them.
 * @returns whether the alert exists
 */
export async function muteAlerts(
  executor: Executor,
  { publisherId, alertId, untilMs }: { publisherId: number; alertId: number; untilMs: number },
): Promise<boolean> {
  const { rowCount } = await executor.query(
    `insert into alert_mutes (publisher_id, kind, subject, until)
    select publisher_id, kind, subject, $3 from alerts where publisher_id = $1 and id = $2
    on conflict (publisher_id, kind, subject) do update set until = excluded.until`,
    [publisherId, alertId, new Date(untilMs)],
  );
  return rowCount === 1;
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
