import type { CapMetric } from '../../catalog/rules.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { type ActiveCaps, type LimitedTotal, totalsKey } from '../caps.ts';
import type { Reservation, SliceRef } from '../reservations/reservations.ts';
import { type Amounts, periodNames, type UsageReader } from '../usage/usage.ts';
import type { SliceAmounts, SliceRow, WantedSlice } from './rows.ts';

/**
 * Minimum impressions per second of a campaign total for leasing a slice. At lower rates, each reservation updates the
 * campaign's usage row instead.
 */
const minRatePerS = 16;
/** Time for which a leased slice should last, in milliseconds: far from its limits, and near one of them. */
const longSliceMs = 4000;
const sliceMs = 1000;
/** Minimum period over which the impression rate is estimated, in milliseconds. */
const minSampleMs = 100;
/**
 * Used share of a slice at which the next slice should be leased, and the share from which it may be leased together
 * with slices of other totals. Joint leases keep the number of leases per batch of fetches small.
 */
const wantedFrom = 0.5;
const joinsFrom = 0.3;
/**
 * Factor by which the average budget amount is increased when sizing a slice, because amounts vary between impressions.
 */
const moneyMargin = 1.25;
/**
 * Idle time after which a leased slice is returned, in milliseconds. Active slices are replaced once they are older
 * than `maxAgeMs`.
 */
const idleMs = 5000;
const maxAgeMs = 15_000;

/** Leased slice as known to this process. At least the same amounts remain in its database row. */
export type Slice = SliceRow & { size: SliceAmounts; leasedAtMs: number; usedAtMs: number };

/** Slices of one campaign total that this process has leased, with the demand for them. */
export type Holding = {
  total: LimitedTotal;
  current: Slice | null;
  next: Slice | null;
  /** Demand since the last slice was leased. */
  demand: SliceAmounts & { sinceMs: number };
  isAsked: boolean;
  /** Time before which no new slice is requested, in epoch milliseconds. */
  refusedUntilMs: number;
};

/** Grants reservations from the slices that this process has leased. */
export type SliceGrants = {
  /**
   * Grants a reservation from the leased slice of its campaign total.
   * @returns the slice, or null if the reservation must be added to the campaign's usage row instead
   */
  grant: (total: LimitedTotal, request: WantedGrant) => SliceRef | null;
  /** Revokes grants that are known not to be committed, now or later. */
  revoke: (granted: readonly Reservation[]) => void;
  /**
   * Stops granting from the slices of these campaign totals (by `totalsKey`), for example after another process has
   * returned them.
   */
  drop: (keys: Iterable<string>) => void;
  /** Whether this process has leased a slice of a campaign total (by `totalsKey`). */
  isHeld: (key: string) => boolean;
  /** Returns the usage without the remainder of this process's leased slices, which the process may still grant. */
  without: (table: UsageReader) => UsageReader;
};

/** Reservation to grant. `micros` is the amount to reserve in each of the periods, in millionths. */
type WantedGrant = { periods: readonly string[]; micros: number };

/** In-memory state of the leased slices. It depends only on the clock; `slices.ts` leases and returns the slices. */
export type Holdings = SliceGrants & {
  /** Retires slices that are idle, too old, or whose cap has changed. */
  retireDue: (activeCaps: ActiveCaps) => void;
  retireAll: () => void;
  /** Returns holdings for which leasing the next slice is worthwhile if other slices are leased anyway. */
  joining: () => Holding[];
  /** Returns the slices retired since the last call. Batches in progress may still spend them. */
  drainRetired: () => Slice[];
};

/**
 * Creates the in-memory state of the leased slices.
 * @param onWanted called when leasing a slice of a campaign total is worthwhile
 */
export function createHoldings(now: () => number, onWanted: (holding: Holding, nowMs: number) => void): Holdings {
  const holdings = new Map<string, Holding>();
  let retired: Slice[] = [];

  function retire(holding: Holding, slice: Slice): void {
    if (holding.current === slice) holding.current = holding.next;
    holding.next = null;
    retired.push(slice);
  }

  function retireIf(holding: Holding, isOut: (slice: Slice) => boolean): void {
    for (const slice of slicesOf(holding).toReversed()) if (isOut(slice)) retire(holding, slice);
  }

  function grant(total: LimitedTotal, { periods, micros }: WantedGrant): SliceRef | null {
    const nowMs = now();
    const holding = getOrInsert(holdings, total.key, () => newHolding(total, nowMs));
    holding.demand.impressions += 1;
    holding.demand.micros += micros;
    for (;;) {
      const slice = holding.current;
      if (slice === null) {
        if (isDemandHigh(holding, nowMs)) onWanted(holding, nowMs);
        return null;
      }
      if (isOf(slice, periods) && fits(slice, total, micros)) {
        slice.impressions -= 1;
        slice.micros -= micros;
        slice.usedAtMs = nowMs;
        if (isUsed(slice, total, wantedFrom)) onWanted(holding, nowMs);
        return slice;
      }
      retire(holding, slice);
    }
  }

  return {
    grant,
    revoke: (granted) => {
      for (const reservation of granted)
        revokeOne(holdings.get(totalsKey(reservation.campaignId, reservation.publisherId)), reservation);
    },
    drop: (keys) => {
      for (const key of keys) {
        const holding = holdings.get(key);
        if (holding !== undefined) retireIf(holding, () => true);
      }
    },
    isHeld: (key) => (holdings.get(key)?.current ?? null) !== null,
    without: (table) => ({
      get: (key, period) => {
        const used = table.get(key, period);
        const holding = holdings.get(key);
        if (holding === undefined || holding.current === null) return used;
        return withoutSlices(used, holding, period);
      },
    }),
    retireDue: (activeCaps) => {
      const nowMs = now();
      for (const [key, holding] of holdings) {
        const total = activeCaps.total(key);
        const isChanged = total !== holding.total && JSON.stringify(total) !== JSON.stringify(holding.total);
        retireIf(holding, (slice) => isChanged || isDue(slice, nowMs));
        if (holding.current !== null || holding.isAsked) continue;
        if (total === undefined || nowMs - holding.demand.sinceMs > maxAgeMs) holdings.delete(key);
        else holding.total = total;
      }
    },
    retireAll: () => {
      for (const holding of holdings.values()) retireIf(holding, () => true);
    },
    joining: () =>
      [...holdings.values()].filter(
        ({ total, current, next, isAsked }) =>
          current !== null && next === null && !isAsked && isUsed(current, total, joinsFrom),
      ),
    drainRetired: () => {
      const slices = retired;
      retired = [];
      return slices;
    },
  };
}

export const noDemand = (nowMs: number): Holding['demand'] => ({ impressions: 0, micros: 0, sinceMs: nowMs });

const newHolding = (total: LimitedTotal, nowMs: number): Holding => ({
  total,
  current: null,
  next: null,
  demand: noDemand(nowMs),
  isAsked: false,
  refusedUntilMs: 0,
});

const slicesOf = ({ current, next }: Holding): Slice[] => [current, next].filter((slice) => slice !== null);

const limits = (total: LimitedTotal, metric: CapMetric): boolean => total.caps.some((cap) => cap.metric === metric);

function revokeOne(holding: Holding | undefined, { slice: from, impressions, micros }: Reservation): void {
  const slice = holding === undefined ? undefined : slicesOf(holding).find((other) => other === from);
  if (slice === undefined) return;
  slice.impressions += impressions;
  slice.micros += micros;
}

function withoutSlices(used: Amounts, holding: Holding, period: string): Amounts {
  let { impressions, micros } = used;
  for (const slice of slicesOf(holding)) {
    if (!slice.periods.includes(period)) continue;
    impressions -= slice.impressions;
    micros -= slice.micros;
  }
  return { ...used, impressions, micros };
}

const isOf = (slice: Slice, periods: readonly string[]): boolean =>
  slice.periods === periods || slice.periods.every((period, index) => period === periods[index]);

const fits = ({ impressions, micros }: Slice, total: LimitedTotal, neededMicros: number): boolean =>
  (impressions >= 1 || !limits(total, 'impressions')) && (micros >= neededMicros || !limits(total, 'budget'));

/** Whether more than a share of a leased slice is used. */
const isUsed = ({ impressions, micros, size }: Slice, total: LimitedTotal, share: number): boolean =>
  (impressions < size.impressions * (1 - share) && limits(total, 'impressions')) ||
  (micros < size.micros * (1 - share) && limits(total, 'budget'));

const isDue = ({ usedAtMs, leasedAtMs }: Slice, nowMs: number): boolean =>
  nowMs - usedAtMs > idleMs || nowMs - leasedAtMs > maxAgeMs;

/**
 * Whether the demand for a campaign total justifies leasing a slice. If the demand is too low, its measurement restarts
 * after a second.
 */
function isDemandHigh(holding: Holding, nowMs: number): boolean {
  const { impressions, sinceMs } = holding.demand;
  const elapsedS = (nowMs - sinceMs) / 1000;
  if (impressions >= minRatePerS * Math.max(1, elapsedS)) return true;
  if (elapsedS > 1) holding.demand = noDemand(nowMs);
  return false;
}

/** Computes the slice to request. Its size is the demand expected for its intended duration. */
export function wantedSlice({ total, demand }: Holding, nowMs: number): WantedSlice {
  const perMs = demand.impressions / Math.max(minSampleMs, nowMs - demand.sinceMs);
  const microsPerImpression = (demand.micros / Math.max(1, demand.impressions)) * moneyMargin;
  const amountsFor = (impressions: number): SliceAmounts => ({
    impressions,
    micros: Math.ceil(impressions * microsPerImpression),
  });
  return {
    total,
    periods: periodNames(total.timeZone, nowMs),
    requestedAmounts: amountsFor(Math.max(minRatePerS, Math.ceil(perMs * longSliceMs))),
    nearLimit: amountsFor(Math.max(minRatePerS, Math.ceil(perMs * sliceMs))),
    least: amountsFor(minRatePerS),
  };
}
