import type { EraseOfUser } from '../../platform/user-data.ts';

/** Cancels redeliveries of the user's deliveries: nothing is left to send. */
export const cancelRedeliveriesOfUser: EraseOfUser = async (pool, { subject, nowMs }) => {
  if (subject.namedBy !== 'pub_user_id') return;
  await pool.query(
    `update redelivery_jobs
    set status = 'cancelled', finished_at = $3, updated_at = $3, filter = filter - 'pubUserId'
    where publisher_id = $1 and filter ->> 'pubUserId' = $2 and status = 'running'`,
    [subject.publisherId, subject.identifier, new Date(nowMs)],
  );
};
