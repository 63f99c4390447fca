import type { CapMetric } from '../../catalog/rules.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { type ActiveCaps, type LimitedTotal, totalsKey } from '../caps.ts';
import type { Reservation } from '../reservations/reservations.ts';
import { type Amounts, periodNames, type UsageReader } from '../usage/usage.ts';
import type { SliceAmounts, SliceRow, WantedSlice } from './rows.ts';

/** Impressions a second of one total that are worth a slice (count); rarer ones are granted row by row. */
const minRatePerS = 16;
/** What a slice is meant to last (milliseconds). */
const sliceMs = 1000;
/** A rate is not estimated from less (milliseconds). */
const minSampleMs = 100;
/** Money is spread unevenly over impressions: a slice takes this times the average. */
const moneyMargin = 1.25;
/** A slice that granted nothing for so long is returned; one that old is replaced (milliseconds). */
const idleMs = 5000;
const maxAgeMs = 15_000;

/** A leased slice as far as this process knows; its row has at least as much left. */
export type Slice = SliceRow & { size: SliceAmounts; takenAtMs: number; usedAtMs: number };

/** What the process has of one total. */
export type Holding = {
  total: LimitedTotal;
  current: Slice | null;
  next: Slice | null;
  /** What was asked for since a slice was last taken. */
  demand: SliceAmounts & { sinceMs: number };
  isAsked: boolean;
  /** No slice is asked for before. */
  refusedUntilMs: number;
};

/** Grants from the slices that this process has leased. */
export type SliceGrants = {
  /** Grants a reservation from the slice of its total. @returns the slice's id; null: it must be granted row by row */
  grant: (total: LimitedTotal, wanted: WantedGrant) => string | null;
  /** Takes back grants of which it is certain that they are not and will not be committed. */
  revoke: (granted: readonly Reservation[]) => void;
  /** Grants nothing more from the slices of these totals (by `totalsKey`), as when another process returned them. */
  drop: (keys: Iterable<string>) => void;
  /** Whether there is a slice of a total (by `totalsKey`). */
  isHeld: (key: string) => boolean;
  /** The usage without what the own slices have left, which this process may still grant. */
  without: (table: UsageReader) => UsageReader;
};

/** `micros`: money in the periods, in millionths. */
type WantedGrant = { periods: readonly string[]; micros: number };

/** Slices in memory; pure but for the clock. `slices.ts` takes and returns them. */
export type Holdings = SliceGrants & {
  /** Retires slices that are idle, too old, or of a cap that has changed. */
  retireDue: (activeCaps: ActiveCaps) => void;
  retireAll: () => void;
  /** Slices that came out of use since the last call; batches under way may still spend them. */
  takeRetired: () => Slice[];
};

/** @param onWanted a slice of the total would pay */
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

  function grant(total: LimitedTotal, { periods, micros }: WantedGrant): string | null {
    const nowMs = now();
    const holding = getOrInsert(holdings, keyOf(total), () => newHolding(total, nowMs));
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
        if (isLow(slice, total)) onWanted(holding, nowMs);
        return slice.id;
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
      get: (campaignId, publisherId, period) => {
        const used = table.get(campaignId, publisherId, period);
        const holding = holdings.get(totalsKey(campaignId, publisherId));
        if (holding === undefined || holding.current === null) return used;
        return withoutSlices(used, holding, period);
      },
    }),
    retireDue: (activeCaps) => {
      const nowMs = now();
      for (const [key, holding] of holdings) {
        const total = activeCaps.total(key);
        const isChanged = JSON.stringify(total) !== JSON.stringify(holding.total);
        retireIf(holding, (slice) => isChanged || isDue(slice, nowMs));
        if (holding.current !== null || holding.isAsked) continue;
        if (total === undefined || nowMs - holding.demand.sinceMs > maxAgeMs) holdings.delete(key);
        else holding.total = total;
      }
    },
    retireAll: () => {
      for (const holding of holdings.values()) retireIf(holding, () => true);
    },
    takeRetired: () => {
      const taken = retired;
      retired = [];
      return taken;
    },
  };
}

const keyOf = ({ campaignId, publisherId }: LimitedTotal): string => totalsKey(campaignId, publisherId);

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

function revokeOne(holding: Holding | undefined, { sliceId, impressions, micros }: Reservation): void {
  const slice = holding === undefined ? undefined : slicesOf(holding).find(({ id }) => id === sliceId);
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

/** Half used: the next one is taken meanwhile. */
const isLow = ({ impressions, micros, size }: Slice, total: LimitedTotal): boolean =>
  (impressions < size.impressions / 2 && limits(total, 'impressions')) ||
  (micros < size.micros / 2 && limits(total, 'budget'));

const isDue = ({ usedAtMs, takenAtMs }: Slice, nowMs: number): boolean =>
  nowMs - usedAtMs > idleMs || nowMs - takenAtMs > maxAgeMs;

/** Whether a total is asked for so often that a slice pays; counts anew where it is not. */
function isDemandHigh(holding: Holding, nowMs: number): boolean {
  const { impressions, sinceMs } = holding.demand;
  const elapsedS = (nowMs - sinceMs) / 1000;
  if (impressions >= minRatePerS * Math.max(1, elapsedS)) return true;
  if (elapsedS > 1) holding.demand = noDemand(nowMs);
  return false;
}

/** As much as is asked for in the time a slice is meant to last. */
export function wantedSlice(id: string, { total, demand }: Holding, nowMs: number): WantedSlice {
  const impressions = Math.max(
    minRatePerS,
    Math.ceil((demand.impressions * sliceMs) / Math.max(minSampleMs, nowMs - demand.sinceMs)),
  );
  const each = (demand.micros / Math.max(1, demand.impressions)) * moneyMargin;
  return {
    id,
    total,
    periods: periodNames(total.timeZone, nowMs),
    wanted: { impressions, micros: Math.ceil(impressions * each) },
    least: { impressions: minRatePerS, micros: Math.ceil(minRatePerS * each) },
  };
}
