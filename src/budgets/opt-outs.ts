import type { TrackedEvent } from '../catalog/types.ts';
import { bigints, dates, integers, smallints, texts, timestamps, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';

/** "No thanks" event. If `optOutDays` is null, the user is opted out of the campaign permanently. */
export type NoThanks = TrackedEvent & { optOutDays: number | null };

/** Columns of a stored "no thanks" event. */
type NoThanksRow = { session_id: string; offer_id: number; kind: string };

/*
 * Events are locked before users, and both are locked in key order (consistent lock order). `offset 0` ensures that
 * each session is looked up by index, regardless of the statistics that the planner has for the partition.
 */
const insertNoThanksSql = `
with inserted as (
  insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, suspicious)
  select day, session_id, offer_id, 'no_thanks', publisher_id, campaign_id, position, at, suspicious
  from (
    select unnest($1::date[]) as day, unnest($2::uuid[]) as session_id, unnest($3::integer[]) as offer_id,
      unnest($4::integer[]) as publisher_id, unnest($5::integer[]) as campaign_id, unnest($6::smallint[]) as position,
      unnest($7::timestamptz[]) as at, unnest($8::text[]) as suspicious
  ) as given
  order by session_id, offer_id
  on conflict do nothing
  returning day, session_id, offer_id, kind, publisher_id, campaign_id, at, suspicious
), opted_out as (
  insert into user_history as known (user_key, publisher_id, opt_outs, updated_at)
  select s.user_key, i.publisher_id,
    jsonb_object_agg(i.campaign_id, floor(extract(epoch from i.at))::bigint + rule.days * 86400), max(i.at)
  from inserted i
  join unnest($9::integer[], $10::bigint[]) as rule (campaign_id, days) using (campaign_id)
  cross join lateral (
    select user_key from sessions where day = any($11::date[]) and day = i.day and id = i.session_id offset 0
  ) s
  where i.suspicious is null and s.user_key is not null
  group by s.user_key, i.publisher_id
  order by s.user_key
  on conflict (user_key) do update
  set opt_outs = known.opt_outs || excluded.opt_outs, updated_at = greatest(known.updated_at, excluded.updated_at)
)
select session_id, offer_id, kind from inserted where suspicious is null`;

/**
 * Stores "no thanks" events and, for each new one, the user's opt-out from the campaign.
 * @returns events that are new and not suspicious
 */
export async function insertNoThanks(executor: Executor, events: readonly NoThanks[]): Promise<NoThanksRow[]> {
  const optOutDays = [...new Map(events.map((event) => [event.claims.campaignId, event.optOutDays]))];
  const { rows } = await executor.query<NoThanksRow>({
    name: 'insert_no_thanks',
    text: insertNoThanksSql,
    values: [
      dates(events, ({ sessionId }) => timeOfUuid7(sessionId)),
      uuids(events, ({ sessionId }) => sessionId),
      integers(events, ({ claims }) => claims.offerId),
      integers(events, ({ claims }) => claims.publisherId),
      integers(events, ({ claims }) => claims.campaignId),
      smallints(events, ({ claims }) => claims.position),
      timestamps(events, ({ atMs }) => atMs),
      texts(events, ({ suspicious }) => suspicious),
      integers(optOutDays, ([campaignId]) => campaignId),
      bigints(optOutDays, ([, days]) => days),
      [...new Set(events.map(({ sessionId }) => dayOfUuid7(sessionId)))],
    ],
  });
  return rows;
}

const lockUsersSql = `
select from user_history where user_key = any(array(
  select user_key from sessions where day = any($1::date[]) and id = any($2::uuid[])
)) order by user_key for update`;

/** Locks the histories of the sessions' users. Used by transactions that write histories in several statements. */
export async function lockUsersOf(executor: Executor, sessionIds: readonly string[]): Promise<void> {
  const values = [[...new Set(sessionIds.map(dayOfUuid7))], uuids(sessionIds, (id) => id)];
  await executor.query({ name: 'lock_users_of_sessions', text: lockUsersSql, values });
}
