import type { Executor } from '../platform/db/pool.ts';
import type { FailedBecause } from './failure.ts';

/** Messages of a publisher that wait or failed because of the mail server or what it says of the sender. */
export type RefusedMessages = {
  publisherId: number;
  count: number;
  /** When the oldest of them was asked for. */
  since: Date;
  /** Of the newest of them. */
  refusal: FailedBecause;
  reply: string | null;
};

/** Attempts after which a temporary refusal lasts (count): the third is five minutes after the first. */
const lastingAttempts = 3;

/**
 * Finds the messages that the relay must be mended for, by publisher: a permanent refusal at once, a temporary one or
 * a server that does not answer after some attempts. Messages stay among them until they are sent or given up.
 */
export async function findRefusedMessages(executor: Executor): Promise<RefusedMessages[]> {
  const { rows } = await executor.query<RefusedMessages>(
    `select publisher_id as "publisherId", count(*)::integer as count, min(created_at) as since,
      (array_agg(refusal order by id desc))[1] as refusal, (array_agg(reply order by id desc))[1] as reply
    from perk_messages
    where refusal in ('sender', 'content', 'unreachable') and content_sealed is not null
      and (state = 'failed' or reply like '5%' or attempts >= ${lastingAttempts})
    group by publisher_id order by publisher_id`,
  );
  return rows;
}
