import { createHmac } from 'node:crypto';
import type { Executor } from '../../platform/db/pool.ts';
import { hourMs } from '../../platform/lib/time.ts';

/** Maximum number of invitations and links that a publisher's admins, or the operators, can send by e-mail per hour. */
export const maxMailsPerHour = 30;

/**
 * Counts an e-mail towards the hourly limit of a publisher or the operators, across all processes. The hour starts with
 * the first e-mail.
 * @param publisherId publisher ID, or null for the operators
 * @returns whether the e-mail may be sent
 */
export async function countMail(
  executor: Executor,
  pepper: string,
  publisherId: number | null,
  nowMs: number,
): Promise<boolean> {
  const subject = createHmac('sha256', pepper)
    .update(`account-mails\0${publisherId ?? 'operators'}`)
    .digest();
  const { rows } = await executor.query<{ mails: number }>(
    `insert into sign_in_failures as f (subject, failures, until) values ($1, 1, $3)
    on conflict (subject) do update set
      failures = case when f.until <= $2 then 1 else f.failures + 1 end,
      until = case when f.until <= $2 then excluded.until else f.until end
    returning failures as mails`,
    [subject, new Date(nowMs), new Date(nowMs + hourMs)],
  );
  return (rows[0]?.mails ?? 0) <= maxMailsPerHour;
}
