import { announcedOf, type StoredExperiments } from '../experiments/assign.ts';
import type { MacroValues } from '../offers/offer-view.ts';
import { dates, integers, timestamps, uuids } from '../platform/db/binary-array.ts';
import { dropPartitions } from '../platform/db/partitions.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import { dayOfUuid7, firstUuid7At, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { exportBySessions } from '../platform/user-data.ts';
import { type PerkStages, type PerkStagesQuery, perkStageSql } from '../reports/perk-stages.ts';

/**
 * Session of a fetch-offers call, with the user's selection. Only `selected` and `wrappedAt` change after the fetch.
 */
export type UspSession = {
  id: string;
  publisherId: number;
  placement: string;
  pubUserId: string | null;
  /** IDs of the shown offers, in display order. The IDs in `campaignIds` are in the same order. */
  offerIds: readonly number[];
  campaignIds: readonly number[];
  /** Macro values used in the shown copy. */
  macros: MacroValues;
  /** Requested language tags, separated by commas, or null if none exists. */
  language: string | null;
  dev: boolean;
  /** Whether User Selected Perks was enabled for this response. */
  usp: boolean;
  /** Experiments that applied, with the arm that the session was in. */
  experiments: readonly { key: string; arm: string }[];
  /** IDs of the campaigns that were preselected when the session started. */
  initial: readonly number[];
  selected: readonly number[];
  /** Time of the wrap, or null while the session is open. */
  wrappedAt: Date | null;
};

export type SelectionChange = { selected: readonly number[]; unselected: readonly number[] };

type SessionRow = {
  placement: string;
  pub_user_id: string | null;
  offer_ids: number[];
  campaign_ids: number[];
  macros: Record<string, string> | null;
  language: string | null;
  dev: boolean;
  usp: boolean;
  usp_check_all: boolean;
  experiments: StoredExperiments['arms'] | null;
  selected: number[] | null;
  wrapped_at: Date | null;
};

/** Key of a publisher's session. */
export type SessionKey = { publisherId: number; id: string };

/**
 * `offset 0` makes PostgreSQL use an index lookup per row for both joins, whatever the planner's partition statistics
 * are.
 */
const findSql = `
select given.at::integer, s.*, u.*
from unnest($1::date[], $2::uuid[], $3::integer[]) with ordinality as given (day, id, publisher_id, at)
cross join lateral (
  select placement, pub_user_id, offer_ids, campaign_ids, macros, language, dev, usp, usp_check_all,
    case when strpos(decision, '"experiments":') > 0 then decision::json #> '{3,experiments,arms}' end as experiments
  from sessions where day = any($4::date[]) and day = given.day and id = given.id
    and publisher_id = given.publisher_id and erased_at is null offset 0
) s
left join lateral (
  select selected, wrapped_at from usp_sessions
  where day = any($4::date[]) and day = given.day and session_id = given.id offset 0
) u on true`;

/**
 * Returns sessions by publisher and ID, in the order of the keys. The result is null for unknown sessions and for
 * erased users. A session has a selection row only once its selection has been changed.
 */
export async function findUspSessions(executor: Executor, keys: readonly SessionKey[]): Promise<(UspSession | null)[]> {
  const { rows } = await executor.query<SessionRow & { at: number }>({
    name: 'find_usp_sessions',
    text: findSql,
    values: [
      dates(keys, ({ id }) => timeOfUuid7(id)),
      uuids(keys, ({ id }) => id),
      integers(keys, ({ publisherId }) => publisherId),
      [...new Set(keys.map(({ id }) => dayOfUuid7(id)))],
    ],
  });
  const sessions: (UspSession | null)[] = keys.map(() => null);
  for (const row of rows) sessions[row.at - 1] = toSession(keys[row.at - 1] as SessionKey, row);
  return sessions;
}

function toSession({ id, publisherId }: SessionKey, row: SessionRow): UspSession {
  const initial = row.usp_check_all ? row.campaign_ids : [];
  return {
    id,
    publisherId,
    placement: row.placement,
    pubUserId: row.pub_user_id,
    offerIds: row.offer_ids,
    campaignIds: row.campaign_ids,
    macros: row.macros ?? {},
    language: row.language,
    dev: row.dev,
    usp: row.usp,
    experiments: row.experiments === null ? [] : announcedOf(row.experiments),
    initial,
    selected: row.selected ?? initial,
    wrappedAt: row.wrapped_at,
  };
}

/** Returns SQL for the selection that results from applying a change to `before`, an SQL expression. */
const changed = (before: string): string => `array(
  select id from unnest($4::integer[]) with ordinality as shown (id, position)
  where (id = any(${before}) or id = any($6::integer[])) and id <> all($7::integer[]) order by position)`;

/**
 * Applies a change to the stored selection in one atomic statement, so that concurrent changes are never lost.
 * @returns the new selection, or null if the session is wrapped
 */
export async function changeSelection(
  executor: Executor,
  session: UspSession,
  change: SelectionChange,
): Promise<number[] | null> {
  const { id, publisherId, campaignIds, initial } = session;
  const { rows } = await executor.query<{ selected: number[] }>({
    name: 'change_usp_selection',
    text: `insert into usp_sessions (day, session_id, publisher_id, selected)
values ($1::date, $2::uuid, $3, ${changed('$5::integer[]')})
on conflict (day, session_id) do update set selected = ${changed('usp_sessions.selected')}
where usp_sessions.wrapped_at is null
returning selected`,
    values: [dayOfUuid7(id), id, publisherId, campaignIds, initial, change.selected, change.unselected],
  });
  return rows[0]?.selected ?? null;
}

/** Session to wrap. */
export type Wrap = { session: UspSession; nowMs: number };

/**
 * Returns the parameters for sessions to wrap. The last array contains the selections of all sessions. The two arrays
 * before it contain the first and last position of each session's selection.
 */
export function wrapValues(wraps: readonly Wrap[], selectionOf: (session: UspSession) => readonly number[]): unknown[] {
  const selections: number[] = [];
  const ranges = wraps.map(({ session }) => {
    const first = selections.length + 1;
    selections.push(...selectionOf(session));
    return { first, last: selections.length };
  });
  return [
    dates(wraps, ({ session }) => timeOfUuid7(session.id)),
    uuids(wraps, ({ session }) => session.id),
    integers(wraps, ({ session }) => session.publisherId),
    timestamps(wraps, ({ nowMs }) => nowMs),
    integers(ranges, ({ first }) => first),
    integers(ranges, ({ last }) => last),
    integers(selections, (id) => id),
  ];
}

/**
 * Wraps sessions and locks their rows until the end of the transaction. The list must contain no duplicates. If several
 * calls wrap a session concurrently, only one of them gets a result. Rows are locked in key order, so that two batches
 * cannot deadlock.
 * @returns the final selections by session ID, without sessions that were already wrapped
 */
export async function markWrapped(executor: Executor, wraps: readonly Wrap[]): Promise<Map<string, number[]>> {
  const { rows } = await executor.query<{ session_id: string; selected: number[] }>({
    name: 'mark_usp_wrapped',
    text: `insert into usp_sessions (day, session_id, publisher_id, selected, wrapped_at)
select day, session_id, publisher_id, ($7::integer[])[first:last], wrapped_at
from unnest($1::date[], $2::uuid[], $3::integer[], $4::timestamptz[], $5::integer[], $6::integer[])
  as given (day, session_id, publisher_id, wrapped_at, first, last)
order by session_id
on conflict (day, session_id) do update set wrapped_at = excluded.wrapped_at
where usp_sessions.wrapped_at is null
returning session_id, selected`,
    values: wrapValues(wraps, ({ initial }) => initial),
  });
  return new Map(rows.map(({ session_id, selected }) => [session_id, selected]));
}

/** Exports the perks that the user selected in their sessions. */
export const exportSelections = exportBySessions(
  `select session_id, selected as campaign_ids, wrapped_at from usp_sessions
  where day = any($1::date[]) and session_id = any($2::uuid[])
  order by session_id`,
);

const deleteDevSql = `
delete from usp_sessions using sessions
where sessions.dev and sessions.created_at < $1
  and usp_sessions.day = sessions.day and usp_sessions.session_id = sessions.id`;

/**
 * Deletes selections after RETENTION_RAW_DAYS days, and those of dev sessions after one day. Must run before the dev
 * sessions are deleted.
 */
export const applyPerksRetention: RetentionStep = async (pool, { retentionRawDays }, nowMs) => {
  const keepFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const partitions = await dropPartitions(pool, ['usp_sessions'], keepFrom);
  const { rowCount } = await pool.query(deleteDevSql, [new Date(nowMs - dayMs)]);
  return { partitions, devSelections: rowCount ?? 0 };
};

/**
 * Counts sessions by perk funnel stage. It counts session rows, which are retained for RETENTION_RAW_DAYS days. Few
 * rows are read, because a session has a perks row only if its user changed the selection or wrapped the session. Dev
 * sessions are excluded. The sessions themselves are read only for filters that need them, because this takes most of
 * the time.
 */
export async function countPerkStages(executor: Executor, query: PerkStagesQuery): Promise<PerkStages> {
  const { publisherId, fromMs, untilMs } = query;
  const values: unknown[] = [publisherId, dayOf(fromMs), dayOf(untilMs), firstUuid7At(fromMs), firstUuid7At(untilMs)];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const { texts, offers, attribute } = query;
  const isBySession = offers !== null || attribute !== null || Object.keys(texts).length > 0;
  const { source, conditions } = isBySession ? sessionRows(query, parameter) : selectionRows(query, parameter);
  const { isConfirmed, isDelivered } = perkStageSql;
  const { rows } = await executor.query<PerkStages>(
    `select count(*)::int as selected, count(*) filter (where ${isConfirmed})::int as confirmed,
      count(*) filter (where ${isDelivered})::int as delivered
    from ${source}
    where t.publisher_id = $1 and t.day between $2 and $3 and t.session_id >= $4 and t.session_id < $5
      and ${conditions.join(' and ')}`,
    values,
  );
  return rows[0] as PerkStages;
}

type StageRows = { source: string; conditions: readonly string[] };

/** Returns SQL for the selections themselves. A selection contains only perks that its session showed. */
const selectionRows = ({ campaigns }: PerkStagesQuery, parameter: (value: unknown) => string): StageRows => ({
  source: 'usp_sessions t',
  conditions: [
    campaigns === null ? 'cardinality(t.selected) > 0' : `t.selected && ${parameter(campaigns)}::integer[]`,
    't.session_id not in (select id from sessions where dev and publisher_id = $1 and day between $2 and $3)',
  ],
});

/**
 * Returns SQL for the selections with their sessions. `offset 0` prevents PostgreSQL from using a join, which would
 * read all sessions.
 */
function sessionRows(
  { texts, campaigns, offers, attribute }: PerkStagesQuery,
  parameter: (value: unknown) => string,
): StageRows {
  const ids = { campaign: campaigns, offer: offers };
  const conditions = [
    perkStageSql.isSelected(
      Object.entries(ids).flatMap(([name, list]) => (list === null ? [] : `${name} = any(${parameter(list)})`)),
    ),
    ...Object.entries(texts).map(([name, list]) => `coalesce(s.${name}, '') = any(${parameter(list)})`),
  ];
  if (attribute !== null)
    conditions.push(`${perkStageSql.attribute(parameter(attribute.key))} = any(${parameter(attribute.values)})`);
  const source = `usp_sessions t cross join lateral (
      select * from sessions where day between $2 and $3 and day = t.day and id = t.session_id and not dev offset 0
    ) s`;
  return { source, conditions };
}
