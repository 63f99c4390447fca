import type { CapEvent } from '../../catalog/rules/rules.ts';
import { type Exposure, noHistory, type OptOuts, type UserHistory } from '../../decision/types.ts';
import { plainArray, quoted } from '../../platform/db/array-literal.ts';
import type { Executor } from '../../platform/db/pool.ts';

/** An answer holds its impressions for this long, or until they come (milliseconds). */
export const reservationMs = 60_000;

/** Older exposures count for caps without an end only (milliseconds; the longest window that has one). */
const longestWindowMs = 180 * 86_400_000;

/**
 * Exposures kept one by one (count). Older ones are kept together, as if they were the newest of them: a cap is never
 * passed.
 */
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

/** A user's history while a batch decides; reservations made in the batch are in it at once. */
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
 * Writes each row as it is, and so locks it, in the order of the keys: everybody who locks users does so in that order,
 * whether they have rows yet or not, and nobody waits in a circle.
 */
const lockSql = `
insert into user_history as known (user_key, publisher_id, updated_at)
select user_key, publisher_id, to_timestamp($3::float8)
from unnest($1::uuid[], $2::integer[]) as given (user_key, publisher_id) order by user_key
on conflict (user_key) do update set updated_at = excluded.updated_at
returning ${columns}`;

/** Reads the histories of users and holds them until the transaction ends. */
export async function lockHistories(
  executor: Executor,
  users: ReadonlyMap<string, number>,
  nowMs: number,
): Promise<Map<string, OpenHistory>> {
  const values = [plainArray([...users.keys()]), plainArray([...users.values()]), nowMs / 1000];
  const { rows } = await executor.query<HistoryRow>({ name: 'lock_histories', text: lockSql, values });
  return new Map(rows.map((row) => [row.user_key, openHistory(row, nowMs)]));
}

/** Reads a user's history without holding it, for who only wants to know. */
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

/** The history as a decision sees it: an impression that is reserved counts like one that was seen. */
export const historyOf = ({ optOuts, exposures, reservations }: OpenHistory): UserHistory => ({
  optOuts,
  exposures: reservations.size === 0 ? [...exposures] : [...exposures, ...reservations.values()],
});

/** Holds the impression of an offer that is about to be shown. */
export function reserveImpression(history: OpenHistory, sessionId: string, exposure: Omit<Exposure, 'event'>): void {
  history.reservations.set(`${sessionId} ${exposure.offerId}`, { ...exposure, event: 'impression' });
  history.changed = true;
}

const saveSql = `
update user_history set exposures = given.exposures::jsonb, reservations = given.reservations::jsonb
from unnest($1::uuid[], $2::text[], $3::text[]) as given (user_key, exposures, reservations)
where user_history.user_key = given.user_key`;

/** Writes back the histories that changed; they must be locked. */
export async function saveHistories(
  executor: Executor,
  histories: Iterable<OpenHistory>,
  nowMs: number,
): Promise<void> {
  const changed = [...histories].filter((history) => history.changed);
  if (changed.length === 0) return;
  const exposures = changed.map((history) =>
    quoted(JSON.stringify(trimExposures(history.exposures, nowMs).map(toStored))),
  );
  const reservations = changed.map((history) =>
    quoted(JSON.stringify(Object.fromEntries([...history.reservations].map(([key, held]) => [key, toStored(held)])))),
  );
  await executor.query({
    name: 'save_histories',
    text: saveSql,
    values: [
      plainArray(changed.map((history) => history.userKey)),
      `{${exposures.join(',')}}`,
      `{${reservations.join(',')}}`,
    ],
  });
}

/** Keeps a history bounded: what is old, and what is too much, is kept together by offer and event. Pure. */
export function trimExposures(exposures: readonly Exposure[], nowMs: number): readonly Exposure[] {
  const oldMs = nowMs - longestWindowMs;
  const sorted = exposures.toSorted((a, b) => b.atMs - a.atMs);
  const isSingle = ({ atMs }: Exposure, index: number): boolean => index < maxSingle && atMs > oldMs;
  if (sorted.every(isSingle)) return exposures;
  const together = new Map<string, Exposure>();
  const single = sorted.filter((exposure, index) => {
    if (isSingle(exposure, index)) return true;
    const key = `${exposure.event} ${exposure.offerId}`;
    const newer = together.get(key);
    if (newer === undefined) together.set(key, exposure);
    else together.set(key, { ...newer, count: (newer.count ?? 1) + (exposure.count ?? 1) });
    return false;
  });
  return [...together.values(), ...single].toReversed();
}
