import { isOwnKind, type OwnKind } from '../../catalog/event-kinds.ts';
import type { CapEvent, CapMetric, CapPeriod, GoalMetric, TotalCap } from '../../catalog/rules.ts';
import { capPeriods } from '../../catalog/rules.ts';
import { bigints, integers, texts } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { periodOf } from '../../platform/lib/time-zone.ts';
import { toMicros } from '../../platform/money.ts';
import { type GoalTotal, type LimitedTotal, totalsKey } from '../caps.ts';

/**
 * Usage amounts of a campaign total. Budget amounts are in millionths.
 * - `impressions` and `micros` include the amounts held by slices and reservations.
 * - `countedImpressions`, `clicks`, `conversions`, `ownEvents` and `spentMicros` are actual usage.
 * - `unbilledMicros` is the revenue of events that no longer fitted into a budget.
 */
export type Amounts = Record<AmountName, number>;

/** Database column of each amount. */
const columnOf = {
  impressions: 'impressions',
  clicks: 'clicks',
  micros: 'micros',
  countedImpressions: 'counted_impressions',
  conversions: 'conversions',
  spentMicros: 'spent_micros',
  unbilledMicros: 'unbilled_micros',
  ownEvents: 'own_events',
} as const;

type AmountName = keyof typeof columnOf;
type AmountColumn = (typeof columnOf)[AmountName];

const amountNames = Object.keys(columnOf) as AmountName[];

/** Builds a set of amounts by calling a function with each name. */
const eachAmount = (of: (name: AmountName) => number): Amounts =>
  Object.fromEntries(amountNames.map((name) => [name, of(name)])) as Amounts;

/** Adds two sets of amounts, or subtracts the second one (`sign` -1). */
export const addAmounts = (a: Amounts, b: Amounts, sign: 1 | -1 = 1): Amounts => ({
  impressions: a.impressions + sign * b.impressions,
  clicks: a.clicks + sign * b.clicks,
  micros: a.micros + sign * b.micros,
  countedImpressions: a.countedImpressions + sign * b.countedImpressions,
  conversions: a.conversions + sign * b.conversions,
  spentMicros: a.spentMicros + sign * b.spentMicros,
  unbilledMicros: a.unbilledMicros + sign * b.unbilledMicros,
  ownEvents: a.ownEvents + sign * b.ownEvents,
});

/** Change to a campaign's usage in one period. */
export type UsageDelta = Amounts & { campaignId: number; publisherId: number | null; period: string };

/** Usage of a campaign in one period. */
export type CampaignUsage = UsageDelta;

const quarterMs = 15 * 60_000;

export const noAmounts: Amounts = eachAmount(() => 0);

/** Returns amounts that all have the same value. */
export const allAmounts = (amount: number): Amounts => eachAmount(() => amount);

/** Maximum number of cached entries. There is one entry per time zone and recently used quarter of an hour. */
const maxKnownNames = 1000;
const knownNames = new Map<string, readonly string[]>();

/**
 * Returns the four periods that contain a time, in the order of `capPeriods`. A period is `lifetime`, or a unit and a
 * start such as `hour 2026-11-21T10:00:00.000Z`. Times in the same quarter of an hour get the same array, because all
 * time zone offsets are multiples of a quarter of an hour.
 */
export function periodNames(timeZone: string, atMs: number): readonly string[] {
  const quarter = Math.floor(atMs / quarterMs);
  if (timeZone === last.timeZone && quarter === last.quarter) return last.names;
  const names = findPeriodNames(timeZone, quarter, atMs);
  last = { timeZone, quarter, names };
  return names;
}

/** Result of the last call. Nearly all calls during a fetch have the same time zone and quarter of an hour. */
let last: { timeZone: string; quarter: number; names: readonly string[] } = { timeZone: '', quarter: 0, names: [] };

function findPeriodNames(timeZone: string, quarter: number, atMs: number): readonly string[] {
  const key = `${timeZone} ${quarter}`;
  let names = knownNames.get(key);
  if (names === undefined) {
    names = capPeriods.map((per) =>
      per === 'lifetime' ? per : `${per} ${new Date(periodOf(per, timeZone, atMs).startMs).toISOString()}`,
    );
    if (knownNames.size >= maxKnownNames) knownNames.clear();
    knownNames.set(key, names);
  }
  return names;
}

/** Returns the period of the given unit that contains a time. */
export const periodName = (per: CapPeriod, timeZone: string, atMs: number): string =>
  periodNames(timeZone, atMs)[capPeriods.indexOf(per)] as string;

/** Returns the period key for an own event. Each own event is counted in its own periods. */
const ownPeriod = (kind: OwnKind, period: string): string => `${period} ${kind}`;

/** Returns the period in which a cap counts events at a given time. */
export function capPeriod(
  { metric, per }: { metric: CapMetric; per: CapPeriod },
  timeZone: string,
  atMs: number,
): string {
  const period = periodName(per, timeZone, atMs);
  return isOwnKind(metric) ? ownPeriod(metric, period) : period;
}

/** Returns all periods in which an event at a given time counts towards a campaign total. */
export function countedPeriods({ timeZone, goal }: LimitedTotal, kind: CapEvent, atMs: number): readonly string[] {
  const periods = periodNames(timeZone, atMs);
  if (isOwnKind(kind)) return periods.map((period) => ownPeriod(kind, period));
  return goal === null ? periods : [...periods, ...goalPeriodsAt(goal, atMs)];
}

/** Returns the own events that are limited by the caps of a campaign total. */
const ownKindsOf = ({ caps }: LimitedTotal): OwnKind[] => [
  ...new Set(caps.map(({ metric }) => metric).filter(isOwnKind)),
];

/** Returns the distinct current periods of campaign totals, including goal periods. */
export const periodsOf = (totals: readonly LimitedTotal[], nowMs: number): string[] => [
  ...new Set(
    totals.flatMap((total) => [
      ...periodNames(total.timeZone, nowMs),
      ...ownKindsOf(total).flatMap((kind) => countedPeriods(total, kind, nowMs)),
      ...(total.goal === null ? [] : [total.goal.period]),
    ]),
  ),
];

/** Returns the goal period if the goal had been set at the given time and its deadline had not passed. */
const goalPeriodsAt = ({ sinceMs, byMs, period }: GoalTotal, atMs: number): string[] =>
  sinceMs <= atMs && atMs < byMs ? [period] : [];

type TotalRef = { campaignId: number; publisherId: number | null };

/** Builds one usage change per period for a campaign total. All changes have the same amounts. */
export const deltasOf = (
  { campaignId, publisherId }: TotalRef,
  periods: readonly string[],
  amounts: Partial<Amounts>,
): UsageDelta[] => periods.map((period) => ({ ...noAmounts, ...amounts, campaignId, publisherId, period }));

type Allocation = TotalRef & { periods: readonly string[]; impressions: number; micros: number };

/**
 * Builds the usage changes for a slice or reservation that is taken from a campaign total (1) or returned to it (-1).
 */
export const allocationDeltas = (amounts: Allocation, sign: 1 | -1): UsageDelta[] =>
  deltasOf(amounts, amounts.periods, { impressions: sign * amounts.impressions, micros: sign * amounts.micros });

type PeriodRef = TotalRef & { period: string };

/** Builds the key of a campaign total in one period. */
export const periodKey = ({ campaignId, publisherId, period }: PeriodRef): string =>
  `${totalsKey(campaignId, publisherId)} ${period}`;

/**
 * Merges changes to the same campaign total in the same period.
 * @param locked period keys (`periodKey`) whose entries are retained even if nothing changes
 */
export function sumDeltas(deltas: readonly UsageDelta[], locked: ReadonlySet<string> = noKeys): UsageDelta[] {
  const sums = new Map<string, UsageDelta>();
  for (const delta of deltas) {
    const key = periodKey(delta);
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? delta : { ...delta, ...addAmounts(sum, delta) });
  }
  return [...sums].flatMap(([key, sum]) => (locked.has(key) || amountNames.some((name) => sum[name] !== 0) ? sum : []));
}

const noKeys: ReadonlySet<string> = new Set();

/*
 * All writers lock rows in key order, which avoids deadlocks. Amounts of money are limited to nine billion currency
 * units, far more than any budget, so that reported amounts cannot cause an overflow.
 */
const addSql = `
insert into campaign_usage as known (campaign_id, publisher_id, period, impressions, clicks, micros,
  counted_impressions, conversions, spent_micros, unbilled_micros, own_events)
select campaign_id, publisher_id, period, impressions, clicks, micros,
  counted_impressions, conversions, spent_micros, unbilled_micros, own_events
from unnest($1::integer[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
  as given (campaign_id, publisher_id, period, impressions, clicks, micros,
    counted_impressions, conversions, spent_micros, unbilled_micros, own_events)
order by campaign_id, publisher_id, period
on conflict (campaign_id, publisher_id, period) do update set
  impressions = known.impressions + excluded.impressions,
  clicks = known.clicks + excluded.clicks,
  micros = greatest(least(known.micros + excluded.micros, 9000000000000000), -9000000000000000),
  counted_impressions = known.counted_impressions + excluded.counted_impressions,
  conversions = known.conversions + excluded.conversions,
  spent_micros = greatest(least(known.spent_micros + excluded.spent_micros, 9000000000000000), -9000000000000000),
  unbilled_micros =
    greatest(least(known.unbilled_micros + excluded.unbilled_micros, 9000000000000000), -9000000000000000),
  own_events = known.own_events + excluded.own_events
returning campaign_id, publisher_id, period, impressions, clicks, micros,
  counted_impressions, conversions, spent_micros, unbilled_micros, own_events`;

/**
 * Adds changes to the stored campaign usage. The rows stay locked until the transaction ends.
 * @param locked period keys (`periodKey`) whose rows are locked and returned even if nothing changes
 * @returns the resulting usage
 */
export async function addUsage(
  executor: Executor,
  deltas: readonly UsageDelta[],
  locked?: ReadonlySet<string>,
): Promise<CampaignUsage[]> {
  const sums = sumDeltas(deltas, locked);
  if (sums.length === 0) return [];
  const { rows } = await executor.query<UsageRow>({
    name: 'add_use',
    text: addSql,
    values: [
      integers(sums, (sum) => sum.campaignId),
      integers(sums, (sum) => sum.publisherId ?? 0),
      texts(sums, (sum) => sum.period),
      bigints(sums, (sum) => Math.round(sum.impressions)),
      bigints(sums, (sum) => Math.round(sum.clicks)),
      bigints(sums, (sum) => Math.round(sum.micros)),
      bigints(sums, (sum) => Math.round(sum.countedImpressions)),
      bigints(sums, (sum) => Math.round(sum.conversions)),
      bigints(sums, (sum) => Math.round(sum.spentMicros)),
      bigints(sums, (sum) => Math.round(sum.unbilledMicros)),
      bigints(sums, (sum) => Math.round(sum.ownEvents)),
    ],
  });
  return rows.map(toUsage);
}

/** Loads the usage in the given periods. */
export async function loadUsage(executor: Executor, periods: readonly string[]): Promise<CampaignUsage[]> {
  const { rows } = await executor.query<UsageRow>({
    name: 'load_use',
    text: `
      select campaign_id, publisher_id, period, impressions, clicks, micros,
        counted_impressions, conversions, spent_micros, unbilled_micros, own_events
      from campaign_usage where period = any($1::text[])`,
    values: [periods],
  });
  return rows.map(toUsage);
}

/** Time for which usage is retained after the start of its period, by unit, in milliseconds. */
const keptMs = { hour: 3 * dayMs, day: 70 * dayMs, month: 800 * dayMs, goal: 800 * dayMs };

/** Deletes usage whose retention period has expired. */
export async function deleteOldUsage(executor: Executor, nowMs: number): Promise<void> {
  for (const [per, ms] of Object.entries(keptMs)) {
    await executor.query("delete from campaign_usage where period like $1 || ' %' and period < $1 || ' ' || $2", [
      per,
      new Date(nowMs - ms).toISOString(),
    ]);
  }
}

/** Row of `campaign_usage` as stored. 64-bit numbers are strings. */
export type UsageRow = { campaign_id: number; publisher_id: number; period: string } & Record<AmountColumn, string>;

export const toUsage = (row: UsageRow): CampaignUsage => ({
  impressions: Number(row.impressions),
  clicks: Number(row.clicks),
  micros: Number(row.micros),
  countedImpressions: Number(row.counted_impressions),
  conversions: Number(row.conversions),
  spentMicros: Number(row.spent_micros),
  unbilledMicros: Number(row.unbilled_micros),
  ownEvents: Number(row.own_events),
  campaignId: row.campaign_id,
  publisherId: row.publisher_id === 0 ? null : row.publisher_id,
  period: row.period,
});

export type UsageReader = {
  /** Returns the amounts of a campaign total (by `totalsKey`) in a period. */
  get: (key: string, period: string) => Amounts;
};

/** Usage by campaign total and period. */
export type UsageTable = UsageReader & {
  set: (used: CampaignUsage) => void;
  add: (delta: UsageDelta) => void;
  /**
   * Returns a copy of the table that copies entries lazily: each entry keeps the value that it had when it was first
   * read.
   */
  fork: () => UsageTable;
};

export function createUsageTable(from?: UsageTable): UsageTable {
  // Nested maps, because a combined key would have to be built and hashed for each read.
  const own = new Map<string, Map<string, Amounts>>();
  const setAmounts = (key: string, period: string, amounts: Amounts): void =>
    void getOrInsert(own, key, () => new Map<string, Amounts>()).set(period, amounts);
  const table: UsageTable = {
    get: (key, period) => {
      let amounts = own.get(key)?.get(period);
      if (amounts === undefined) {
        amounts = from?.get(key, period) ?? noAmounts;
        if (from !== undefined) setAmounts(key, period, amounts);
      }
      return amounts;
    },
    set: (used) => setAmounts(totalsKey(used.campaignId, used.publisherId), used.period, addAmounts(noAmounts, used)),
    add: (delta) => {
      const key = totalsKey(delta.campaignId, delta.publisherId);
      setAmounts(key, delta.period, addAmounts(table.get(key, delta.period), delta));
    },
    fork: () => createUsageTable(table),
  };
  return table;
}

const fields = {
  impressions: 'impressions',
  clicks: 'clicks',
  budget: 'micros',
} as const satisfies Record<Exclude<CapMetric, OwnKind>, AmountName>;

/** Returns the usage field that counts towards a cap. */
export const fieldOf = (metric: CapMetric): 'impressions' | 'clicks' | 'micros' | 'ownEvents' =>
  isOwnKind(metric) ? 'ownEvents' : fields[metric];
export const limitOf = ({ metric, limit }: TotalCap): number => (metric === 'budget' ? toMicros(limit) : limit);

const goalFields = {
  impressions: 'countedImpressions',
  clicks: 'clicks',
  conversions: 'conversions',
} as const satisfies Record<GoalMetric, AmountName>;

/** Returns the number of events delivered towards a campaign's goal. */
export const goalUsageOf = (table: UsageReader, { key }: LimitedTotal, { period, metric }: GoalTotal): number =>
  table.get(key, period)[goalFields[metric]];
