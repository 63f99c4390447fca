import type { Catalog } from '../catalog/module.ts';
import type { Learning } from '../learning/module.ts';
import { type HighRates, highRatesOf } from '../learning/score.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import { createFetchCommits } from './commits/commits.ts';
import { createUsagePreview } from './commits/preview.ts';
import { eraseHistoriesOfSessions, eraseHistoryOfUser, exportHistory } from './history/user-data.ts';
import { releaseDueReservations } from './reservations/release.ts';
import { releaseExpiredSlices } from './slices/rows.ts';
import { createSlices } from './slices/slices.ts';
import { createLiveUsage } from './usage/live-usage.ts';
import { registerBudgetMetrics } from './usage/metrics.ts';
import { deleteOldUsage } from './usage/usage.ts';

export type Budgets = ReturnType<typeof createBudgets>;

type BudgetsOptions = {
  platform: Platform;
  catalog: Catalog;
  learning: Learning;
  /** Returns a time, in epoch milliseconds, before which all acknowledged events are stored. */
  eventsStoredUntil: () => number;
};

/** Rates for offers that no longer exist. With these rates, their reservations are not released early. */
const noRates: HighRates = { click: 1, conversion: 1 };

/** Creates the budgets module: caps, reservations, pacing and users' exposure histories. */
export function createBudgets({ platform, catalog: { store: catalog }, learning, eventsStoredUntil }: BudgetsOptions) {
  const { pool, flushPool, logger, now, metrics } = platform.deps;
  const usage = createLiveUsage({ pool, catalog, now });
  const slices = createSlices({ pool, catalog, logger, now, usage });
  registerBudgetMetrics(metrics.registry, { pool, catalog, now });
  async function releaseReservations(): Promise<void> {
    const { offers } = await catalog.checked();
    const ratesOf = (offerId: number): HighRates => {
      const offer = offers.get(offerId);
      return offer === undefined ? noRates : highRatesOf(learning.model.current(), offer);
    };
    await releaseDueReservations(pool, eventsStoredUntil(), ratesOf);
    await releaseExpiredSlices(pool);
  }
  const jobs: readonly Job[] = [
    {
      name: 'campaign usage',
      roles: ['api'],
      pauseMs: 1000,
      pausePerRun: 20,
      locks: 'none: reads campaign_usage into memory',
      run: usage.refresh,
    },
    {
      name: 'slices of totals',
      roles: ['api'],
      pauseMs: 1000,
      locks: 'its own rows of cap_leases, then rows of campaign_usage',
      run: slices.returnUnused,
      onStop: slices.close,
    },
    {
      name: 'reservation release',
      roles: ['worker'],
      pauseMs: 1000,
      locks: 'due rows of cap_reservations, or expired ones of cap_leases (skip locked), then rows of campaign_usage',
      run: releaseReservations,
    },
  ];
  return {
    name: 'budgets',
    rank: 70,
    ...createFetchCommits({ pool: flushPool, usage, slices, eventsStoredUntil, now }),
    preview: createUsagePreview({ pool, usage, slices, eventsStoredUntil, now }),
    jobs: () => jobs,
    retention,
    userData: {
      eraseWithSessions: eraseHistoriesOfSessions,
      eraseOfUser: [eraseHistoryOfUser],
      exports: { history: exportHistory },
    },
  };
}

const retention: RetentionStep = async (pool, _days, nowMs) => {
  await deleteOldUsage(pool, nowMs);
  return {};
};
