import { payoutOf } from '../../catalog/snapshot/provisioning.ts';
import type { Publisher, Snapshot } from '../../catalog/snapshot/types.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { createLimiter } from '../../platform/lib/fair-limiter.ts';
import { dayMs } from '../../platform/lib/time.ts';
import type { PlatformDeps } from '../../platform/ports.ts';
import { type Reconciliation, reconcile } from '../reconcile/reconcile.ts';
import { type Metrics, sumOf } from './metrics.ts';
import { type ActivityQuery, type ActivityRow, queryActivity } from './query.ts';
import { type Reading, readConsistently, tooLarge } from './read-only.ts';
import {
  type ActivityParameters,
  dateIn,
  maxDays,
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
  /**
   * Errors: invalid_request, unknown_group_by, report_too_large, unavailable.
   * @param signal says that nobody waits for the report any more: it is not counted to its end
   */
  activity: (publisher: Publisher, given: ActivityParameters, signal?: AbortSignal) => Promise<ActivityReport>;
  /** Of UTC days. Errors: invalid_request, report_too_large, unavailable. */
  reconciliation: (
    publisher: Publisher,
    given: RangeParameters,
    signal?: AbortSignal,
  ) => Promise<Range & Reconciliation>;
};

/** Rows of one report (count). */
export const maxRows = 50_000;
/**
 * Reports at work at once in one process, so that they never keep beacons waiting for a connection: of sums, and of raw
 * rows,
 * which keep a processor busy for as long as they take (count). Publishers take turns, and none has all of it.
 */
const message = 'Too many reports are being counted.';
const limitSums = createLimiter({ atOnce: 3, atOnceEach: 2, maxWaiting: 64, maxWaitMs: 30_000, message });
const limitRaw = createLimiter({ atOnce: 2, atOnceEach: 1, maxWaiting: 16, maxWaitMs: 30_000, message });

export function createReportService({
  pool,
  dbHealth,
  now,
}: Pick<PlatformDeps, 'pool' | 'dbHealth' | 'now'>): ReportService {
  const guarded = createFailFast(dbHealth);

  async function activity(
    publisher: Publisher,
    given: ActivityParameters,
    signal?: AbortSignal,
  ): Promise<ActivityReport> {
    const hasKey = (key: string): Promise<boolean> => isKnownKey(pool, publisher.id, key);
    const request = await readActivity(given, { publisher, nowMs: now(), hasKey });
    const { query } = request;
    const reading = { isOfSums: sourceOf(query).kind !== 'raw', signal };
    return inTurn(publisher, reading, async (executor) => {
      const rows = await queryActivity(executor, query, maxRows);
      if (rows.length > maxRows)
        throw tooLarge(`The report has more than ${maxRows} rows. Ask for fewer days, or filter.`);
      if (addsUp(query)) return { ...request, rows, totals: sumOf(rows) };
      const totals = await queryActivity(executor, { ...query, groupBy: [], aggregatedBy: 'day' }, maxRows);
      return { ...request, rows, totals: sumOf(totals) };
    });
  }

  async function reconciliation(
    publisher: Publisher,
    given: RangeParameters,
    signal?: AbortSignal,
  ): Promise<Range & Reconciliation> {
    const range = readRange(given, dateIn('UTC', now() - dayMs), maxDays);
    const sums = await inTurn(publisher, { isOfSums: true, signal }, (executor) =>
      reconcile(executor, publisher.id, range.from, range.to),
    );
    return { ...range, ...sums };
  }

  function inTurn<T>(publisher: Publisher, reading: Reading, work: (executor: Executor) => Promise<T>): Promise<T> {
    const limit = reading.isOfSums ? limitSums : limitRaw;
    return limit(() => readConsistently(pool, reading, work), { customer: publisher.id, signal: reading.signal });
  }

  return {
    activity: (publisher, given, signal) => guarded(() => activity(publisher, given, signal)),
    reconciliation: (publisher, given, signal) => guarded(() => reconciliation(publisher, given, signal)),
  };
}

/**
 * Whether the rows add up to the totals: not where they count a session for each of its offers, or only those that have
 * an own key.
 */
const addsUp = ({ groupBy, filters, customValues }: ActivityQuery): boolean =>
  (!groupBy.includes('custom') || customValues !== null) &&
  (!groupBy.some((name) => name === 'offer' || name === 'campaign') ||
    filters.offer !== undefined ||
    filters.campaign !== undefined);

async function isKnownKey(executor: Executor, publisherId: number, key: string): Promise<boolean> {
  const { rows } = await executor.query<{ known: boolean }>({
    name: 'is_report_key',
    text: 'select exists (select from custom_values where publisher_id = $1 and key = $2) as known',
    values: [publisherId, key],
  });
  return rows[0]?.known ?? false;
}

/**
 * The currency of everything the publisher may show; null where there are several, whose amounts are added as they are.
 */
export function currencyOf({ offers }: Snapshot, publisherId: number): string | null {
  const currencies = new Set<string>();
  for (const { campaign } of offers.values())
    if (campaign.provisions.has(publisherId)) currencies.add(payoutOf(campaign, publisherId).currency);
  return currencies.size === 1 ? ([...currencies][0] ?? null) : null;
}
