import type { TrackedKind } from '../../catalog/event-kinds.ts';
import { plainArray } from '../../platform/db/array-literal.ts';
import { bigints, dates, integers, smallints, timestamps, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { TokenClaims } from '../../platform/security/tracking-token.ts';

/** Why an event is left out of counts, caps and money. The store itself finds `no_impression` and `too_fast`. */
export type Suspicion = 'bot' | 'qr';

/** One event to store. `sessionId` is the token's; for a scanned QR code, which has none, one of its own. */
export type TrackedEvent = {
  kind: TrackedKind;
  claims: TokenClaims;
  sessionId: string;
  /** Epoch milliseconds. */
  atMs: number;
  suspicious: Suspicion | null;
  /** What it earns where it is not suspicious, in millionths of the campaign's currency. */
  revenueMicros: number;
};

/** A step that no beacon tells of: an offer kept in the wallet, a perk chosen when its session was wrapped. */
export type Step = Omit<TrackedEvent, 'kind'> & { kind: 'save' | 'selection' };

/** A "no thanks"; `optOutDays` null: the campaign stays away for good. */
export type NoThanks = TrackedEvent & { optOutDays: number | null };

/** A click; `recorded` false only looks up what `wantsSession` asks for. */
export type Click = TrackedEvent & { recorded: boolean; wantsSession: boolean };

/** What a landing page may ask of the session. */
export type ClickSession = { placement: string | null; pubUserId: string | null };

/** A click this soon after the impression was made by no person (milliseconds). */
export const tooFastMs = 100;

const eventColumns =
  'day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, suspicious, revenue_micros';

/*
 * The rows of a batch, from an array for each column. Unnested in the list of what is selected they are read in
 * lock-step, row
 * by row; as a function in FROM, PostgreSQL would copy each array into a store of its own first.
 */
const givenRows = `
  select unnest($1::date[]) as day, unnest($2::uuid[]) as session_id, unnest($3::integer[]) as offer_id, unnest($4::text[]) as kind,
    unnest($5::integer[]) as publisher_id, unnest($6::integer[]) as campaign_id, unnest($7::smallint[]) as position,
    unnest($8::timestamptz[]) as at, unnest($9::text[]) as suspicious, unnest($10::bigint[]) as revenue_micros`;

/*
 * Everyone inserts in the order of the primary key, so that two batches with the same events wait for one another and
 * never in a circle. A batch that meets an event under way waits for its commit: its clients are answered after it,
 * too.
 * The session says the day, so sessions sorted are days sorted.
 */
const keyOrder = 'order by session_id, offer_id, kind';

const firstBeaconsSql = `
insert into events (${eventColumns})
select ${eventColumns}
from (${givenRows}) as given
${keyOrder}`;

const beaconsSql = `${firstBeaconsSql}
on conflict do nothing`;

/** Stores impressions, closes and steps; what is there already stays as it is. */
export async function insertBeacons(executor: Executor, events: readonly (TrackedEvent | Step)[]): Promise<void> {
  await executor.query({ name: 'insert_beacons', text: beaconsSql, values: toColumns(events) });
}

/** Stores events of which none is there already or given twice: otherwise it fails with 23505 and stores nothing. */
export async function insertFirstBeacons(executor: Executor, events: readonly TrackedEvent[]): Promise<void> {
  await executor.query({ name: 'insert_first_beacons', text: firstBeaconsSql, values: toColumns(events) });
}

/*
 * Lookups of sessions and impressions. `offset 0` keeps them what they are, one index probe for each row: joined
 * freely,
 * a plan made while a partition was small would read whole partitions later. The list of the batch's days lets the
 * planner leave out all other partitions: with 98 of them a click takes 0.4 ms instead of 2.3 ms.
 */
const noThanksSql = (then: (optOut: string) => string): string => `
with inserted as (
  insert into events (${eventColumns})
  select ${eventColumns}
  from (${givenRows}) as given
  ${keyOrder}
  on conflict do nothing
  returning day, session_id, offer_id, publisher_id, campaign_id, at, suspicious
)
${then(optOutSql)}`;

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

const noThanksText = noThanksSql((optOut) => optOut);
const newNoThanksText = noThanksSql(
  (optOut) => `, opted_out as (${optOut}) select session_id, offer_id from inserted where suspicious is null`,
);

/** Stores "no thanks" events and, for each new one, the user's opt-out from the campaign, in one statement. */
export async function insertNoThanks(executor: Executor, events: readonly NoThanks[]): Promise<void> {
  await executor.query({ name: 'insert_no_thanks', text: noThanksText, values: noThanksValues(events) });
}

function noThanksValues(events: readonly NoThanks[]): Values {
  const rules = new Map(events.map(({ claims, optOutDays }) => [claims.campaignId, optOutDays]));
  return [...toColumns(events), plainArray([...rules.keys()]), plainArray([...rules.values()]), daysOf(events)];
}

/** The event of a step of a session that is not a developer's. */
export const toStep = (kind: Step['kind'], claims: TokenClaims & { sessionId: string }, atMs: number): Step => ({
  kind,
  claims,
  sessionId: claims.sessionId,
  atMs,
  suspicious: null,
  revenueMicros: 0,
});

const clicksSql = `
insert into events (${eventColumns})
select c.day, c.session_id, c.offer_id, c.kind, c.publisher_id, c.campaign_id, c.position, c.at,
  case
    when c.suspicious is not null then c.suspicious
    when i.at is null then 'no_impression'
    when c.at < i.at + interval '${tooFastMs} milliseconds' then 'too_fast'
  end, c.revenue_micros
from (${givenRows}, unnest($11::boolean[]) as recorded) as c
left join lateral (
  select at from events
  where day = any($12::date[]) and day = c.day and session_id = c.session_id and offer_id = c.offer_id and kind = 'impression'
  offset 0
) i on true
where c.recorded
order by c.session_id, c.offer_id, c.kind
on conflict do nothing`;

const clicksWithSessionSql = `
with inserted as (${clicksSql})
select c.index::integer, s.placement, s.pub_user_id
from unnest($1::date[], $2::uuid[], $13::boolean[]) with ordinality as c (day, session_id, wanted, index)
cross join lateral (
  select placement, pub_user_id from sessions where day = any($12::date[]) and day = c.day and id = c.session_id offset 0
) s
where c.wanted`;

/** Stores clicks, and answers for each what its landing page asked of the session (null where it asked nothing). */
export async function insertClicks(executor: Executor, clicks: readonly Click[]): Promise<(ClickSession | null)[]> {
  const found = clicks.map<ClickSession | null>(() => null);
  const values = clickValues(clicks);
  if (!clicks.some((click) => click.wantsSession)) {
    await executor.query({ name: 'insert_clicks', text: clicksSql, values });
    return found;
  }
  values.push(plainArray(clicks.map((click) => click.wantsSession)));
  const { rows } = await executor.query<{ index: number; placement: string; pub_user_id: string | null }>({
    name: 'insert_clicks_with_session',
    text: clicksWithSessionSql,
    values,
  });
  for (const row of rows) found[row.index - 1] = { placement: row.placement, pubUserId: row.pub_user_id };
  return found;
}

/** Parameters of a statement. */
type Values = (string | Buffer)[];

/** An event that counts and is stored for the first time. */
export type NewEvent = { session_id: string; offer_id: number };

/** As `insertBeacons`. @returns what is new and not suspicious */
export const insertNewBeacons = (executor: Executor, events: readonly TrackedEvent[]): Promise<NewEvent[]> =>
  newEvents(executor, 'insert_new_beacons', beaconsSql + newOnes, toColumns(events));

/** As `insertNoThanks`. @returns what is new and not suspicious */
export const insertNewNoThanks = (executor: Executor, events: readonly NoThanks[]): Promise<NewEvent[]> =>
  newEvents(executor, 'insert_new_no_thanks', newNoThanksText, noThanksValues(events));

/** Stores clicks. @returns what is new and not suspicious */
export const insertNewClicks = (executor: Executor, clicks: readonly Click[]): Promise<NewEvent[]> =>
  newEvents(executor, 'insert_new_clicks', clicksSql + newOnes, clickValues(clicks));

const newOnes = ' returning session_id, offer_id, suspicious';

async function newEvents(executor: Executor, name: string, text: string, values: Values): Promise<NewEvent[]> {
  const { rows } = await executor.query<NewEvent & { suspicious?: string | null }>({ name, text, values });
  return rows.filter((row) => (row.suspicious ?? null) === null);
}

const clickValues = (clicks: readonly Click[]): Values => [
  ...toColumns(clicks),
  plainArray(clicks.map((click) => click.recorded)),
  daysOf(clicks),
];

/** The days of a batch, each once. */
const daysOf = (events: readonly TrackedEvent[]): string =>
  plainArray([...new Set(events.map((event) => dayOfUuid7(event.sessionId)))]);

/** A column without a value: arrays that are shorter than others are filled up with NULL. */
const none = '{}';

/** The columns of a batch. */
const toColumns = (events: readonly (TrackedEvent | Step)[]): Values => [
  dates(events, ({ sessionId }) => timeOfUuid7(sessionId)),
  uuids(events, ({ sessionId }) => sessionId),
  integers(events, ({ claims }) => claims.offerId),
  plainArray(events.map(({ kind }) => kind)),
  integers(events, ({ claims }) => claims.publisherId),
  integers(events, ({ claims }) => claims.campaignId),
  smallints(events, ({ claims }) => claims.position),
  timestamps(events, ({ atMs }) => atMs),
  events.some(({ suspicious }) => suspicious !== null) ? plainArray(events.map(({ suspicious }) => suspicious)) : none,
  events.some(({ revenueMicros }) => revenueMicros !== 0)
    ? bigints(events, ({ revenueMicros }) => revenueMicros || null)
    : none,
];
