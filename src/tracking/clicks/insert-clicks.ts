import type { TrackedEvent } from '../../catalog/types.ts';
import { booleans } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import {
  daysOf,
  eventColumns,
  insertReturningNew,
  type NewEvent,
  rowsSql,
  rowValues,
  type Values,
} from '../event-rows.ts';

/**
 * Click to handle. It is stored only if `recorded` is true. If `wantsSession` is true, the data of its session is read.
 */
export type Click = TrackedEvent & { recorded: boolean; wantsSession: boolean };

/** Session data that landing page macros use. */
export type ClickSession = { placement: string };

/** Minimum time between an impression and a valid click, in milliseconds. No person clicks faster. */
const tooFastMs = 100;

/**
 * `offset 0` forces one index probe per row. PostgreSQL could otherwise use a join, and a plan made while a partition
 * is small would later scan whole partitions. With 98 partitions, the list of days reduces the time per click from 2.3
 * ms to 0.4 ms.
 */
const clicksSql = `
insert into events (${eventColumns})
select c.day, c.session_id, c.offer_id, c.kind, c.publisher_id, c.campaign_id, c.position, c.at,
  case
    when c.suspicious is not null then c.suspicious
    when i.at is null then 'no_impression'
    when c.at < i.at + interval '${tooFastMs} milliseconds' then 'too_fast'
  end, c.revenue_micros, c.currency
from (${rowsSql}, unnest($12::boolean[]) as recorded) as c
left join lateral (
  select at from events
  where day = any($13::date[]) and day = c.day and session_id = c.session_id and offer_id = c.offer_id
    and kind = 'impression'
  offset 0
) i on true
where c.recorded
order by c.session_id, c.offer_id, c.kind
on conflict do nothing`;

const clicksWithSessionSql = `
with inserted as (${clicksSql} returning suspicious)
select null::integer as index, null as placement, suspicious from inserted
union all
select c.index::integer, s.placement, null
from unnest($1::date[], $2::uuid[], $14::boolean[]) with ordinality as c (day, session_id, wanted, index)
cross join lateral (
  select placement from sessions
  where day = any($13::date[]) and day = c.day and id = c.session_id
  offset 0
) s
where c.wanted`;

/**
 * Result row: either a stored click with the reason why it is suspicious, or the session data for the click at `index`.
 */
type StoredRow = { index: null; suspicious: string | null };
type SessionRow = { index: number; placement: string };

/** Callback for each new click. It receives the reason why the click is suspicious, or null. */
type OnStored = (suspicion: string | null) => void;

/**
 * Stores clicks.
 * @returns the session data for each click, or null if its landing page does not need any
 */
export async function insertClicks(
  executor: Executor,
  clicks: readonly Click[],
  onStored: OnStored = () => {},
): Promise<(ClickSession | null)[]> {
  const sessions = clicks.map<ClickSession | null>(() => null);
  if (!clicks.some((click) => click.wantsSession)) {
    const text = `${clicksSql} returning suspicious`;
    const { rows } = await executor.query<StoredRow>({ name: 'insert_clicks', text, values: valuesOf(clicks) });
    for (const { suspicious } of rows) onStored(suspicious);
    return sessions;
  }
  const { rows } = await executor.query<StoredRow | SessionRow>({
    name: 'insert_clicks_with_session',
    text: clicksWithSessionSql,
    values: [...valuesOf(clicks), booleans(clicks, (click) => click.wantsSession)],
  });
  for (const row of rows) {
    if (row.index === null) onStored(row.suspicious);
    else sessions[row.index - 1] = { placement: row.placement };
  }
  return sessions;
}

/**
 * Stores clicks.
 * @returns the clicks that are new and not suspicious
 */
export const insertNewClicks = (
  executor: Executor,
  clicks: readonly Click[],
  onStored: OnStored,
): Promise<NewEvent[]> =>
  insertReturningNew(executor, { name: 'insert_new_clicks', text: clicksSql, values: valuesOf(clicks) }, onStored);

/** Reads the same session data as `insertClicks`, for clicks that are already stored. */
export async function findClickSessions(
  executor: Executor,
  clicks: readonly Click[],
): Promise<(ClickSession | null)[]> {
  if (!clicks.some((click) => click.wantsSession)) return clicks.map(() => null);
  return insertClicks(
    executor,
    clicks.map((click) => ({ ...click, recorded: false })),
  );
}

const valuesOf = (clicks: readonly Click[]): Values => [
  ...rowValues(clicks),
  booleans(clicks, (click) => click.recorded),
  daysOf(clicks),
];
