import { uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { OptOuts } from './caps.ts';

/** Parameters of the statement, each an array; the first two are parallel. `days` null: opted out for good. */
type OptOutParameters = { campaignIds: string; days: string; sessionDays: string };

/**
 * SQL that opts users out of the campaigns of their "no thanks" events, to run in the statement that stores the events:
 * events are locked before users, and users in the order of their keys (consistent lock order).
 * @param events name of a query with the new events (day, session_id, publisher_id, campaign_id, at, suspicious)
 */
export const optOutStatement = (events: string, { campaignIds, days, sessionDays }: OptOutParameters): string =>
  // `offset 0` keeps the lookup of a session an index probe for each row, whatever the planner knows of the partition.
  `
insert into user_history as known (user_key, publisher_id, opt_outs, updated_at)
select s.user_key, i.publisher_id,
  jsonb_object_agg(i.campaign_id, floor(extract(epoch from i.at))::bigint + rule.days * 86400), max(i.at)
from ${events} i
join unnest(${campaignIds}::integer[], ${days}::bigint[]) as rule (campaign_id, days) using (campaign_id)
cross join lateral (
  select user_key from sessions where day = any(${sessionDays}::date[]) and day = i.day and id = i.session_id offset 0
) s
where i.suspicious is null and s.user_key is not null
group by s.user_key, i.publisher_id
order by s.user_key
on conflict (user_key) do update
set opt_outs = known.opt_outs || excluded.opt_outs, updated_at = greatest(known.updated_at, excluded.updated_at)`;

/**
 * SQL of a query `opted_out` (user_key, opt_outs): of the given users, those who have opted out of a campaign.
 * @param at number of the parameter with their keys
 */
export const optedOut = (at: number): string => `opted_out as (
  select user_key, opt_outs from user_history where user_key = any($${at}::uuid[]) and opt_outs <> '{}'
)`;

export type OptOutRow = { user_key: string; opt_outs: OptOuts };

export const optOutsOf = (rows: readonly OptOutRow[]): Map<string, OptOuts> =>
  new Map(rows.map((row) => [row.user_key, row.opt_outs]));

/** The opt-outs of many users in one statement. */
export async function loadOptOuts(executor: Executor, userKeys: readonly string[]): Promise<Map<string, OptOuts>> {
  if (userKeys.length === 0) return new Map();
  const { rows } = await executor.query<OptOutRow>({
    name: 'load_opt_outs',
    text: 'select user_key, opt_outs from user_history where user_key = any($1::uuid[])',
    values: [uuids(userKeys, (key) => key)],
  });
  return optOutsOf(rows);
}
