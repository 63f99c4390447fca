import { mayOpen } from '../../accounts/memberships.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { type Problem, storedProblem } from '../../platform/problem.ts';
import type { Period } from './due.ts';

/** Schedule for sending a saved report to one recipient. If `email` is null, the recipient is a channel. */
export type Schedule = {
  id: number;
  userId: number | null;
  email: string | null;
  channelId: number | null;
  period: Period;
  hour: number;
  dueAt: Date;
  sentAt: Date | null;
  error: string | null;
};

/**
 * Maximum number of schedules per publisher. Each schedule sends at most once a day, so this also limits the number of
 * e-mails.
 */
export const maxSchedules = 50;

export async function listSchedules(
  executor: Executor,
  { publisherId, reportId }: { publisherId: number; reportId: number },
): Promise<Schedule[]> {
  const { rows } = await executor.query<Schedule>({
    name: 'list_report_schedules',
    text: `select s.id, s.user_id as "userId", u.email, s.channel_id as "channelId", s.period, s.hour,
      s.due_at as "dueAt", s.sent_at as "sentAt", s.error
    from report_schedules s left join users u on u.id = s.user_id
    where s.publisher_id = $1 and s.report_id = $2 order by s.id`,
    values: [publisherId, reportId],
  });
  return rows;
}

/** Lists the publisher's users to whom an admin may send reports by e-mail. */
export async function listReaders(executor: Executor, publisherId: number): Promise<{ id: number; email: string }[]> {
  const { rows } = await executor.query<{ id: number; email: string }>(
    `select u.id, u.email from users u join memberships m on m.user_id = u.id
    where m.publisher_id = $1 and m.joined_at is not null and not m.disabled order by u.email limit 200`,
    [publisherId],
  );
  return rows;
}

type NewSchedule = {
  publisherId: number;
  reportId: number;
  userId: number | null;
  channelId: number | null;
  period: Period;
  hour: number;
  dueMs: number;
};

/**
 * Adds a recipient to a report, or updates the recipient's existing schedule.
 * @returns false if there are too many schedules, or if the report no longer exists
 */
export async function saveSchedule(executor: Executor, schedule: NewSchedule, nowMs: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    `insert into report_schedules
      (publisher_id, report_id, user_id, channel_id, period, hour, due_at, next_attempt_at, created_at)
    select $1, r.id, $3, $4, $5, $6, $7, $7, $8 from saved_reports r where r.id = $2 and r.publisher_id = $1 and (
      (select count(*) from report_schedules where publisher_id = $1) < ${maxSchedules} or exists (
        select from report_schedules where report_id = $2 and (user_id = $3 or channel_id = $4)
      )
    )
    on conflict (report_id, coalesce(user_id, 0), coalesce(channel_id, 0)) do update set
      period = excluded.period, hour = excluded.hour, due_at = excluded.due_at,
      next_attempt_at = excluded.next_attempt_at, attempts = 0, error = null`,
    [
      ...[schedule.publisherId, schedule.reportId, schedule.userId, schedule.channelId, schedule.period],
      ...[schedule.hour, new Date(schedule.dueMs), new Date(nowMs)],
    ],
  );
  return rowCount === 1;
}

/**
 * Deletes a schedule. If `ofUser` is set, deletes it only if it belongs to that user.
 * @returns the report ID, or null if the schedule does not exist
 */
export async function stopSchedule(
  executor: Executor,
  { publisherId, id, ofUser }: { publisherId: number; id: number; ofUser: number | null },
): Promise<number | null> {
  const { rows } = await executor.query<{ report_id: number }>(
    `delete from report_schedules where publisher_id = $1 and id = $2 and ($3::integer is null or user_id = $3)
    returning report_id`,
    [publisherId, id, ofUser],
  );
  return rows[0]?.report_id ?? null;
}

/**
 * Makes a schedule due now, unless its report was sent less than a minute ago. If `ofUser` is set, only if it belongs
 * to that user.
 * @returns the report ID and whether the schedule is due now; null if the schedule does not exist
 */
export async function makeDue(
  executor: Executor,
  { publisherId, id, ofUser }: { publisherId: number; id: number; ofUser: number | null },
  nowMs: number,
): Promise<{ reportId: number; isDue: boolean } | null> {
  const { rows } = await executor.query<{ reportId: number; isDue: boolean }>(
    `with schedule as (
      select id, report_id from report_schedules
      where publisher_id = $1 and id = $2 and ($3::integer is null or user_id = $3) for update
    ), due as (
      update report_schedules s set due_at = $4, next_attempt_at = $4, attempts = 0 from schedule
      where s.id = schedule.id and (s.sent_at is null or s.sent_at < $4::timestamptz - interval '1 minute')
      returning s.id
    )
    select report_id as "reportId", exists (select from due) as "isDue" from schedule`,
    [publisherId, id, ofUser, new Date(nowMs)],
  );
  return rows[0] ?? null;
}

/** Message that is due to be sent. */
export type DueSchedule = {
  id: number;
  channelId: number | null;
  period: Period;
  hour: number;
  dueAt: Date;
  publisherId: number;
  reportId: number;
  name: string;
  query: string;
  attempts: number;
  /** Recipient's e-mail address. Null for a channel, or if the user no longer has access. */
  email: string | null;
  language: string | null;
};

/** Maximum number of messages per run. */
const maxBatch = 5;

/**
 * Claims due messages. If the process dies, another process sends them. Retries follow after 4, 8, 16 … minutes, which
 * is long enough that attempts do not overlap.
 */
export async function claimDue(executor: Executor, nowMs: number): Promise<DueSchedule[]> {
  const { rows } = await executor.query<DueSchedule>(
    `with due as (
      select id from report_schedules where next_attempt_at <= $1 order by next_attempt_at limit ${maxBatch}
      for update skip locked
    ), taken as (
      update report_schedules s set attempts = s.attempts + 1,
        next_attempt_at = $1::timestamptz + make_interval(mins => (2 ^ (s.attempts + 2))::int)
      from due where s.id = due.id returning s.*
    )
    select s.id, s.channel_id as "channelId", s.period, s.hour, s.due_at as "dueAt", s.attempts,
      s.publisher_id as "publisherId", r.id as "reportId", r.name, r.query, u.email, u.language
    from taken s join saved_reports r on r.id = s.report_id
    left join users u on u.id = s.user_id and ${mayOpen('u.id', 's.publisher_id')}`,
    [new Date(nowMs)],
  );
  return rows;
}

/**
 * Maximum number of attempts per message. After the last failed attempt, the message is skipped, and the schedule
 * continues with the next one.
 */
const maxAttempts = 6;

/** Records whether a message was sent. After a sent or skipped message, schedules the next one. */
export async function settleDue(
  executor: Executor,
  { id, attempts, dueAt }: DueSchedule,
  { error, nextDueMs, nowMs }: { error: Problem | null; nextDueMs: number; nowMs: number },
): Promise<void> {
  const isDone = error === null || attempts >= maxAttempts;
  await executor.query(
    `update report_schedules set error = $4, sent_at = case when $4::text is null then $5 else sent_at end,
      due_at = case when $6 then $7 else due_at end, attempts = case when $6 then 0 else attempts end,
      next_attempt_at = case when $6 then $7 else next_attempt_at end
    where id = $1 and attempts = $2 and due_at = $3`,
    [id, attempts, dueAt, error && storedProblem(error), new Date(nowMs), isDone, new Date(nextDueMs)],
  );
}
