import { quarterOf } from './events.ts';
import { isMovedSession } from './sums.ts';

/*
 * What happened, with things that are alike as one row: they are told apart by all that is reported, and no more. Sums
 * of all kinds
 * are then made of these few rows, so that of a fold only the look for each event's session goes through all that is
 * new.
 */

/**
 * Gives `happened`, of which alike things are one row; of sessions it only says whether their sums have `moved`. Times
 * are those of
 * the minute, or of the quarter of an hour where minutes are not asked for.
 * @param happenedSql what happened, one by one
 * @param minutesFrom an expression: the first whole minute that is asked for
 */
export const talliedSql = (happenedSql: string, minutesFrom: string): string => `
happened as materialized (
  select counts, day, publisher_id,
    exists (select from rollup_publishers where next_zone is not null) and exists (
      select from rollup_publishers moving where moving.publisher_id = one.publisher_id and next_zone is not null and ${isMovedSession}
    ) as moved,
    case when at >= ${minutesFrom} then date_bin('1 minute', at, 'epoch'::timestamptz) else ${quarterOf('at')} end as at, placement, country,
    device, os, custom, offer_id, max(campaign_id) as campaign_id, kind, reason, sum_exact(times) as times, sum_exact(conversions) as conversions,
    sum(revenue_micros) as revenue_micros
  from (${happenedSql}) as one
  group by counts, day, publisher_id, moved, 5, placement, country, device, os, custom, offer_id, kind, reason
)`;
