/*
 * Common table expressions of the rollup statement (`statement.ts`) for the users of impressions. The rollup only
 * appends users, because updating the sketches would rewrite up to 262 kB per sketch in every rollup.
 */

/** SQL for the users of a group of events. */
export const usersOfEventsSql =
  "array_agg(user_key) filter (where kind = 'impression' and user_key is not null) as users";

const pendingColumns =
  'publisher_id, bucket, placement, offer_id, campaign_id, country, device, os, weight, users, unknown';

/* Appends the users of new impressions, or subtracts those of impressions that are recounted. */
export const reachWrittenCte = (sign: '' | '-'): string => `
reach_written as (
  insert into reach_pending (${pendingColumns})
  select publisher_id, date_trunc('day', at, zone), placement, offer_id, campaign_id, country, device, os, ${sign}1,
    coalesce(users, '{}'), occurrences - ${sign}coalesce(cardinality(users), 0)
  from zoned_events where kind = 'impression'
)`;

/* Turns the users of impressions into unknown users when the users are erased. */
export const reachErasedCte = `
reach_erased as (
  insert into reach_pending (${pendingColumns})
  select publisher_id, date_trunc('day', at, zone), placement, offer_id, campaign_id, country, device, os, -1,
    array_agg(user_key), count(*)
  from zoned_events where kind = 'impression' and user_key is not null
  group by 1, 2, 3, 4, 5, 6, 7, 8
)`;
