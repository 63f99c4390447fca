import type { CapEvent } from '../../catalog/rules/rules.ts';
import { type Exposure, noHistory, type OptOuts, type UserHistory } from '../../decision/types.ts';
import { integers, texts, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';

/** How long an answer reserves its impressions, unless they come before (milliseconds). */
export const reservationMs = 60_000;

/** The longest window of a cap (milliseconds); older exposures count for caps without a window only. */
const longestWindowMs = 180 * dayMs;

/** Exposures stored one by one (count). Older ones are merged with the time of the newest, so no cap is exceeded. */
const maxSingle = 256;

/** As stored: [event, offer, campaign, advertiser, epoch ms, count]. */
type StoredExposure = [CapEvent, number, number, number, number, number];

type HistoryRow = {
  user_key: string;
  opt_outs: OptOuts;
  exposures: StoredExposure[];
  /** null: the impression came. */
  reservations: Record<string, StoredExposure | null>;
};

/** A locked history while a batch is decided; it includes the reservations the batch has made so far. */
export type OpenHistory = {
  userKey: string;
  optOuts: OptOuts;
  exposures: Exposure[];
  /** By "session offer". */
  reservations: Map<string, Exposure>;
  changed: boolean;
};

const columns = 'user_key, opt_outs, exposures, reservations';

/*
 * Writes each row as it is, and so locks it, in the order of the keys, whether it exists or not: all writers lock users
 * in this order, which avoids deadlocks.
 */
const lockSql = `
insert into user_history as known (user_key, publisher_id, updated_at)
select user_key, publisher_id, to_timestamp($3::float8)
from unnest($1::uuid[], $2::integer[]) as given (user_key, publisher_id) order by user_key
on conflict (user_key) do update set updated_at = excluded.updated_at
returning ${columns}`;

/**
 * Reads the histories of users and locks them until the transaction ends.
 * @param nowMs reservations are kept for a minute up to here; with an event log, up to where its events are stored
 */
export async function lockHistories(
  executor: Executor,
  users: ReadonlyMap<string, number>,
  nowMs: number,
): Promise<Map<string, OpenHistory>> {
  const given = [...users];
  const values = [
    uuids(given, ([userKey]) => userKey),
    integers(given, ([, publisherId]) => publisherId),
    nowMs / 1000,
  ];
  const { rows } = await executor.query<HistoryRow>({ name: 'lock_histories', text: lockSql, values });
  return new Map(rows.map((row) => [row.user_key, openHistory(row, nowMs)]));
}

/** Reads a user's history without locking it. */
export async function readHistory(executor: Executor, userKey: string, nowMs: number): Promise<UserHistory> {
  const { rows } = await executor.query<HistoryRow>(`select ${columns} from user_history where user_key = $1`, [
    userKey,
  ]);
  return rows[0] === undefined ? noHistory : historyOf(openHistory(rows[0], nowMs));
}

function openHistory(row: HistoryRow, nowMs: number): OpenHistory {
  const reservations = new Map<string, Exposure>();
  for (const [key, stored] of Object.entries(row.reservations)) {
    if (stored !== null && stored[4] + reservationMs > nowMs) reservations.set(key, toExposure(stored));
  }
  return {
    userKey: row.user_key,
    optOuts: row.opt_outs,
    exposures: row.exposures.map(toExposure),
    reservations,
    changed: false,
  };
}

const toExposure = ([event, offerId, campaignId, advertiserId, atMs, count]: StoredExposure): Exposure => ({
  event,
  offerId,
  campaignId,
  advertiserId,
  atMs,
  ...(count === 1 ? {} : { count }),
});

const toStored = ({ event, offerId, campaignId, advertiserId, atMs, count = 1 }: Exposure): StoredExposure => [
  event,
  offerId,
  campaignId,
  advertiserId,
  atMs,
  count,
];

/** The history as a decision sees it: a reserved impression counts like one that was seen. */
export const historyOf = ({ optOuts, exposures, reservations }: OpenHistory): UserHistory => ({
  optOuts,
  exposures: reservations.size === 0 ? [...exposures] : [...exposures, ...reservations.values()],
});

/** Reserves the impression of an offer that is about to be shown. */
export function reserveImpression(history: OpenHistory, sessionId: string, exposure: Omit<Exposure, 'event'>): void {
  history.reservations.set(`${sessionId} ${exposure.offerId}`, { ...exposure, event: 'impression' });
  history.changed = true;
}

const saveSql = `
update user_history set exposures = given.exposures::jsonb, reservations = given.reservations::jsonb
from unnest($1::uuid[], $2::text[], $3::text[]) as given (user_key, exposures, reservations)
where user_history.user_key = given.user_key`;

const storeReservations = (reservations: ReadonlyMap<string, Exposure>): Record<string, StoredExposure> =>
  Object.fromEntries([...reservations].map(([key, exposure]) => [key, toStored(exposure)]));

/** Writes back the histories that changed; they must be locked. */
export async function saveHistories(
  executor: Executor,
  histories: Iterable<OpenHistory>,
  nowMs: number,
): Promise<void> {
  const changed = [...histories].filter((history) => history.changed);
  if (changed.length === 0) return;
  await executor.query({
    name: 'save_histories',
    text: saveSql,
    values: [
      uuids(changed, ({ userKey }) => userKey),
      texts(changed, ({ exposures }) => JSON.stringify(trimExposures(exposures, nowMs).map(toStored))),
      texts(changed, ({ reservations }) => JSON.stringify(storeReservations(reservations))),
    ],
  });
}

/** Bounds a history: exposures that are old, or too many, are merged by offer and event. Pure. */
export function trimExposures(exposures: readonly Exposure[], nowMs: number): readonly Exposure[] {
  const oldMs = nowMs - longestWindowMs;
  const sorted = exposures.toSorted((a, b) => b.atMs - a.atMs);
  const isSingle = ({ atMs }: Exposure, index: number): boolean => index < maxSingle && atMs > oldMs;
  if (sorted.every(isSingle)) return exposures;
  const merged = new Map<string, Exposure>();
  const single = sorted.filter((exposure, index) => {
    if (isSingle(exposure, index)) return true;
    const key = `${exposure.event} ${exposure.offerId}`;
    const newer = merged.get(key);
    if (newer === undefined) merged.set(key, exposure);
    else merged.set(key, { ...newer, count: (newer.count ?? 1) + (exposure.count ?? 1) });
    return false;
  });
  return [...merged.values(), ...single].toReversed();
}
