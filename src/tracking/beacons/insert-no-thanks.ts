import { bigints, integers } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { daysOf, eventColumns, keyOrder, type NewEvent, rowsSql, rowValues, type Values } from '../event-rows.ts';
import type { TrackedEvent } from '../tracked-event.ts';

/** A "no thanks"; `optOutDays` null: the user is opted out of the campaign for good. */
export type NoThanks = TrackedEvent & { optOutDays: number | null };

const insertSql = `
insert into events (${eventColumns})
select ${eventColumns} from (${rowsSql}) as given
${keyOrder}
on conflict do nothing
returning day, session_id, offer_id, publisher_id, campaign_id, at, suspicious`;

/* `offset 0` keeps the lookup of a session an index probe for each row, whatever the planner knows of the partition. */
const optOutSql = `
insert into user_history as known (user_key, publisher_id, opt_outs, updated_at)
select s.user_key, i.publisher_id,
  jsonb_object_agg(i.campaign_id, floor(extract(epoch from i.at))::bigint + rule.days * 86400), max(i.at)
from inserted i
join unnest($11::integer[], $12::bigint[]) as rule (campaign_id, days) using (campaign_id)
cross join lateral (
  select user_key from sessions where day = any($13::date[]) and day = i.day and id = i.session_id offset 0
) s
where i.suspicious is null and s.user_key is not null
group by s.user_key, i.publisher_id
order by s.user_key
on conflict (user_key) do update
set opt_outs = known.opt_outs || excluded.opt_outs, updated_at = greatest(known.updated_at, excluded.updated_at)`;

const noThanksSql = `with inserted as (${insertSql}) ${optOutSql}`;

const newNoThanksSql = `
with inserted as (${insertSql}), opted_out as (${optOutSql})
select session_id, offer_id from inserted where suspicious is null`;

/** Stores "no thanks" events and, for each new one, the user's opt-out from the campaign, in one statement. */
export async function insertNoThanks(executor: Executor, events: readonly NoThanks[]): Promise<void> {
  await executor.query({ name: 'insert_no_thanks', text: noThanksSql, values: valuesOf(events) });
}

/** As `insertNoThanks`. @returns those that are new and not suspicious */
export async function insertNewNoThanks(executor: Executor, events: readonly NoThanks[]): Promise<NewEvent[]> {
  const statement = { name: 'insert_new_no_thanks', text: newNoThanksSql, values: valuesOf(events) };
  return (await executor.query<NewEvent>(statement)).rows;
}

function valuesOf(events: readonly NoThanks[]): Values {
  const optOutDays = new Map(events.map((event) => [event.claims.campaignId, event.optOutDays]));
  const rules = [...optOutDays];
  const campaignIds = integers(rules, ([campaignId]) => campaignId);
  return [...rowValues(events), campaignIds, bigints(rules, ([, days]) => days), daysOf(events)];
}
