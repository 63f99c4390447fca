import type pg from 'pg';
import { payoutOf } from '../catalog/provision.ts';
import type { Publisher, Snapshot } from '../catalog/types.ts';
import { type Executor, transaction } from '../db/pool.ts';
import { createStoreGuard } from '../db/store-guard.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { createLimiter } from '../limiter.ts';
import { dayMs } from '../session-id.ts';
import { type Metrics, sumOf } from './metrics.ts';
import { type ActivityQuery, type ActivityRow, queryActivity } from './query.ts';
import { type Reconciliation, reconcile } from './reconcile.ts';
import {
  type ActivityParameters,
  dateIn,
  maxDaysOfRawRows,
  type Range,
  type RangeParameters,
  type ReportRequest,
  readActivity,
  readRange,
} from './request.ts';
import { sourceOf } from './source.ts';

export type ActivityReport = ReportRequest & {
  rows: readonly ActivityRow[];
  /** Of everything that passes the filters; a session counts once, also where rows count it for each of its offers. */
  totals: Metrics;
};

export type ReportService = {
  /** Errors: invalid_request, unknown_group_by, report_too_large, unavailable. */
  activity: (publisher: Publisher, given: ActivityParameters) => Promise<ActivityReport>;
  /** Of UTC days. Errors: invalid_request, report_too_large, unavailable. */
  reconciliation: (publisher: Publisher, given: RangeParameters) => Promise<Range & Reconciliation>;
};

/** Rows of one report (count). */
export const maxRows = 50_000;
/** A report that takes longer is too large (milliseconds). */
const limitMs = 8000;

/**
 * Reports at work at once in one process, so that they never keep beacons waiting for a connection: of sums, and of raw rows,
 * which keep a processor busy for as long as they take (count).
 */
const message = 'Too many reports are being counted.';
const limitSums = createLimiter({ atOnce: 3, maxWaiting: 256, message });
const limitRaw = createLimiter({ atOnce: 1, maxWaiting: 16, message });

const queryCanceled = '57014';

export function createReportService({ pool, pulse, now }: Pick<Deps, 'pool' | 'pulse' | 'now'>): ReportService {
  const guarded = createStoreGuard(pulse);

  async function activity(publisher: Publisher, given: ActivityParameters): Promise<ActivityReport> {
    const hasKey = (key: string): Promise<boolean> => isKnownKey(pool, publisher.id, key);
    const request = await readActivity(given, { publisher, nowMs: now(), hasKey });
    const { query } = request;
    const isOfSums = sourceOf(query).kind !== 'raw';
    const inTurn = isOfSums ? limitSums : limitRaw;
    return inTurn(() =>
      consistently(pool, { isOfSums }, async (executor) => {
        const rows = await queryActivity(executor, query, maxRows);
        if (rows.length > maxRows) throw tooLarge(`The report has more than ${maxRows} rows. Ask for fewer days, or filter.`);
        if (addsUp(query)) return { ...request, rows, totals: sumOf(rows) };
        const totals = await queryActivity(executor, { ...query, groupBy: [], aggregatedBy: 'day' }, maxRows);
        return { ...request, rows, totals: sumOf(totals) };
      }),
    );
  }

  async function reconciliation(publisher: Publisher, given: RangeParameters): Promise<Range & Reconciliation> {
    const range = readRange(given, dateIn('UTC', now() - dayMs), maxDaysOfRawRows);
    const sums = await limitRaw(() =>
      consistently(pool, { isOfSums: false }, (executor) => reconcile(executor, publisher.id, range.from, range.to)),
    );
    return { ...range, ...sums };
  }

  return {
    activity: (publisher, given) => guarded(() => activity(publisher, given)),
    reconciliation: (publisher, given) => guarded(() => reconciliation(publisher, given)),
  };
}

/** Whether the rows add up to the totals: not where they count a session for each of its offers, or only those that have an own key. */
const addsUp = ({ groupBy, filters, customValues }: ActivityQuery): boolean =>
  (!groupBy.includes('custom') || customValues !== null) &&
  (!groupBy.some((name) => name === 'offer' || name === 'campaign') || filters.offer !== undefined || filters.campaign !== undefined);

/** Runs reads of one report on one snapshot, within the time a report may take. */
const consistently = <T>(pool: pg.Pool, { isOfSums }: { isOfSums: boolean }, work: (executor: Executor) => Promise<T>): Promise<T> =>
  transaction(pool, async (executor) => {
    // Of sums whole stretches are read: by bitmaps of pages, which are fetched ahead where they are not in memory.
    await executor.query(`set transaction isolation level repeatable read, read only;
set local statement_timeout = ${limitMs}; set local jit = off; set local work_mem = '32MB';
set local max_parallel_workers_per_gather = 0; set local enable_indexscan = ${isOfSums ? 'off' : 'on'}`);
    return work(executor);
  }).catch((err: unknown) => {
    if ((err as { code?: unknown }).code === queryCanceled) throw tooLarge('The report takes too long. Ask for fewer days or dimensions.');
    throw err;
  });

const tooLarge = (message: string): AppError => new AppError('report_too_large', { message });

async function isKnownKey(executor: Executor, publisherId: number, key: string): Promise<boolean> {
  const { rows } = await executor.query<{ known: boolean }>({
    name: 'is_report_key',
    text: 'select exists (select from custom_values where publisher_id = $1 and key = $2) as known',
    values: [publisherId, key],
  });
  return rows[0]?.known ?? false;
}

/** The currency of everything the publisher may show; null where there are several, whose amounts are added as they are. */
export function currencyOf({ offers }: Snapshot, publisherId: number): string | null {
  const currencies = new Set<string>();
  for (const { campaign } of offers.values())
    if (campaign.provisions.has(publisherId)) currencies.add(payoutOf(campaign, publisherId).currency);
  return currencies.size === 1 ? ([...currencies][0] ?? null) : null;
}
