import type pg from 'pg';
import type { Snapshot } from '../../catalog/types.ts';
import type { Logger } from '../../platform/logger.ts';
import { activeCapsOf } from '../caps.ts';
import type { LiveUsage } from '../usage/live-usage.ts';
import { createHoldings, type Holding, noDemand, type Slice, type SliceGrants, wantedSlice } from './holdings.ts';
import { leaseSlices, returnSlices } from './rows.ts';

/**
 * Slices that this process has leased from total caps and budgets, and from which it grants reservations in memory.
 * Fetches that show a campaign with a total cap therefore need no lock shared with other processes
 * (docs/adr/0012-slices-of-totals.md). The remainder in memory is an estimate that never exceeds the remainder in the
 * slice's database row. A grant becomes final only when its transaction has reduced that row.
 */
export type Slices = SliceGrants & {
  /** Gives back unused slices. A job calls this function every second. */
  returnUnused: () => Promise<void>;
  /** Gives back all leased slices and stops leasing new ones. */
  close: () => Promise<void>;
};

/** Delay between a refused lease request and the next one, in milliseconds. */
const retryMs = 500;

/**
 * Time for which a request for the next slice waits for requests for other slices, in milliseconds. Half of the current
 * slice is left at that time, which lasts for about half a second. With 100 campaigns, a transaction then leases ten
 * slices instead of one or two.
 */
const groupMs = 100;

type SlicesOptions = {
  pool: pg.Pool;
  catalog: { current: () => Snapshot };
  usage: LiveUsage;
  logger: Logger;
  now: () => number;
};

export function createSlices({ pool, catalog, usage, logger, now }: SlicesOptions): Slices {
  const holdings = createHoldings(now, ask);
  const waitingHoldings = new Set<Holding>();
  let leasing: Promise<void> | null = null;
  let groupTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function ask(holding: Holding, nowMs: number): void {
    if (isClosed || holding.next !== null || nowMs < holding.refusedUntilMs) return;
    if (!holding.isAsked) waitingHoldings.add(holding);
    holding.isAsked = true;
    // Without a slice, fetches with the campaign need locks, so the request for its first slice does not wait.
    if (holding.current === null) startLeasing();
    else if (waitingHoldings.size > 0) groupTimer ??= setTimeout(startLeasing, groupMs);
  }

  function startLeasing(): void {
    clearTimeout(groupTimer);
    groupTimer = undefined;
    leasing ??= Promise.resolve().then(leaseWaiting);
  }

  async function leaseWaiting(): Promise<void> {
    while (waitingHoldings.size > 0 && !isClosed) {
      const batch = [...waitingHoldings, ...holdings.joining().filter(({ refusedUntilMs }) => refusedUntilMs <= now())];
      waitingHoldings.clear();
      for (const holding of batch) holding.isAsked = true;
      await leaseBatch(batch).catch((err: unknown) => {
        logger.debug({ err }, 'leasing slices of total caps failed');
        for (const holding of batch) holding.refusedUntilMs = now() + retryMs;
      });
      for (const holding of batch) holding.isAsked = false;
    }
    leasing = null;
  }

  async function leaseBatch(batch: readonly Holding[]): Promise<void> {
    const nowMs = now();
    const requests = batch.map((holding) => wantedSlice(holding, nowMs));
    const { slices, used } = await leaseSlices(pool, requests, nowMs);
    usage.learn(used);
    for (const [index, holding] of batch.entries()) {
      const row = slices[index] ?? null;
      holding.demand = noDemand(nowMs);
      if (row === null) {
        holding.refusedUntilMs = now() + retryMs;
        continue;
      }
      const { impressions, micros } = row;
      const slice = { size: { impressions, micros }, leasedAtMs: nowMs, usedAtMs: nowMs, ...row };
      if (holding.current === null) holding.current = slice;
      else holding.next = slice;
    }
  }

  async function returnAll(slices: readonly Slice[]): Promise<void> {
    if (slices.length === 0) return;
    usage.learn(await returnSlices(pool, slices));
  }

  return {
    ...holdings,
    returnUnused: async () => {
      await leasing;
      const leaving = holdings.drainRetired();
      holdings.retireDue(activeCapsOf(catalog.current()));
      await returnAll(leaving);
    },
    close: async () => {
      isClosed = true;
      clearTimeout(groupTimer);
      await leasing;
      holdings.retireAll();
      await returnAll(holdings.drainRetired());
    },
  };
}
