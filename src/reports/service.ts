import type pg from 'pg';
import { isLoaded } from '../catalog/store.ts';
import type { Publisher, Snapshot } from '../catalog/types.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { Replica } from '../platform/db/replica.ts';
import { AppError } from '../platform/errors.ts';
import { type DayRange, type DayRangeParameters, readDayRange } from '../platform/http/day-range.ts';
import type { KeyResources } from '../platform/http/key-restrictions.ts';
import { createLimiter } from '../platform/lib/fair-limiter.ts';
import { dayMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import { type ConvertedTotal, readConvertedTotal } from './converted.ts';
import { type Metrics, sumOf, type UserCount, withoutSessions } from './metrics.ts';
import { type Explored, explore, exploreTop, type TopQuery } from './query/explore.ts';
import { queryActivity } from './query/query.ts';
import { type ReadOptions, readConsistently, tooLarge } from './query/read-only.ts';
import { type ActivityParameters, dateIn, maxDays, readActivity } from './query/request.ts';
import { addsUpSessions, sourceOf } from './query/source.ts';
import type { ActivityQuery, ActivityRow, ExploreQuery, ReportRequest } from './query/types.ts';
import { countUsersOf, noUsers, type RawRetention, userKeyOf, userSourceOf, usersFromDay } from './reach/read.ts';
import type { KnownSource } from './reach/spread.ts';
import { type Reconciliation, reconcile } from './reconcile/reconcile.ts';

export type ActivityReport = ReportRequest & {
  rows: readonly ActivityRow[];
  /**
   * Totals of everything that matches the filters, with each session counted once. The number of sessions is NaN if the
   * rollups cannot provide it.
   */
  totals: Metrics;
  /**
   * Totals in the reporting currency. They are null if an exchange rate is missing, and absent if the publisher has no
   * reporting currency.
   */
  converted?: ConvertedTotal | null;
};

type AskedBy = {
  /** Signal that cancels the report when the client disconnects. */
  signal?: AbortSignal | undefined;
  /** Resources to which the report is limited, or null for all resources. */
  resources?: KeyResources | null;
};

export type ReportService = {
  /**
   * Returns the time up to which the reports of a replica contain all data, or null if reports are read from the
   * primary. Call it before a report is created.
   */
  asOf: () => Date | null;
  /**
   * Creates an activity report.
   * @throws AppError invalid_request, unknown_group_by, report_too_large, unavailable
   */
  activity: (publisher: Publisher, parameters: ActivityParameters, options?: AskedBy) => Promise<ActivityReport>;
  /**
   * Answers an explorer query from rollups only.
   * @throws AppError report_too_large, unavailable
   */
  explore: (query: ExploreQuery, signal?: AbortSignal) => Promise<Explored>;
  /**
   * Returns the values for which the queried metric is largest.
   * @throws AppError report_too_large, unavailable
   */
  top: (query: TopQuery, signal?: AbortSignal) => ReturnType<typeof exploreTop>;
  /**
   * Reads raw rows for a report. The reads count towards the limit on concurrent raw reports.
   * @throws AppError report_too_large, unavailable
   */
  readRaw: <T>(publisherId: number, work: (executor: Executor) => Promise<T>, signal?: AbortSignal) => Promise<T>;
  /**
   * Counts the users of a query from sketches or, if they cannot answer it, from raw rows.
   * @throws AppError invalid_request if the raw rows were deleted, report_too_large, unavailable
   */
  readUsers: <T>(
    query: ActivityQuery,
    work: (executor: Executor, source: KnownSource) => Promise<T>,
    signal?: AbortSignal,
  ) => Promise<T>;
  /**
   * Returns the first day for which the users of a query can be counted, whatever its range. Null without a limit.
   * @param source `sketches` to consider only sketches, and not raw rows
   */
  usersFromDay: (query: ActivityQuery, source?: 'sketches') => Promise<string | null>;
  /**
   * Reconciles a range of UTC days.
   * @throws AppError invalid_request, report_too_large, unavailable
   */
  reconciliation: (
    publisher: Publisher,
    period: DayRangeParameters,
    signal?: AbortSignal,
  ) => Promise<DayRange & Reconciliation>;
};

/** Maximum number of rows in a report. */
const maxRows = 50_000;
const message = problem('reportsWaiting');
/**
 * Limits the number of concurrent reports in one process, so that reports never use up the connections that beacons
 * need. There is one limit for reports from rollups, and one for reports from raw rows, which keep a CPU busy while
 * they run. Publishers take turns, and no single publisher can use up the limit.
 */
const limitFromRollups = createLimiter({
  maxConcurrent: 3,
  maxConcurrentPerClient: 2,
  maxWaitingPerClient: 64,
  maxWaitMs: 30_000,
  message,
});
const limitFromRaw = createLimiter({
  maxConcurrent: 2,
  maxConcurrentPerClient: 1,
  maxWaitingPerClient: 16,
  maxWaitMs: 30_000,
  message,
});

type ServiceDeps = {
  pool: pg.Pool;
  replica: Replica | null;
  dbHealth: DatabaseHealth;
  config: { retentionRawDays: number };
  now: () => number;
};

export function createReportService({ pool, replica, dbHealth, config, now }: ServiceDeps): ReportService {
  const failFast = createFailFast(dbHealth);
  const retention = (): RawRetention => ({ nowMs: now(), retentionRawDays: config.retentionRawDays });

  async function activity(
    publisher: Publisher,
    parameters: ActivityParameters,
    { signal, resources = null }: AskedBy = {},
  ): Promise<ActivityReport> {
    const hasKey = (key: string): Promise<boolean> => isReportKey(pool, publisher.id, key);
    const request = await readActivity(parameters, { publisher, nowMs: now(), hasKey, resources });
    const { query } = request;
    const userSource = request.hasUsers ? await userSourceOf(pool, query, retention()) : null;
    const options = { fromRollups: sourceOf(query).kind !== 'raw' && userSource !== 'raw', signal };
    return limited(publisher.id, options, async (executor) => {
      const rows = await queryActivity(executor, query, maxRows);
      if (rows.length > maxRows) throw tooLarge(problem('tooManyRows', { max: maxRows }));
      const users = request.hasUsers
        ? await countUsersOf(executor, query, { source: userSource, grouping: 'slots' })
        : null;
      const usersOf = ({ startMs, group }: ActivityRow): UserCount =>
        users?.groups.get(userKeyOf(startMs, group)) ?? noUsers;
      const withUsers = (list: readonly ActivityRow[]): readonly ActivityRow[] =>
        users === null ? list : list.map((row) => ({ ...row, metrics: { ...row.metrics, users: usersOf(row) } }));
      const totals = addsUp(query)
        ? sumOf(rows)
        : sumOf(await queryActivity(executor, { ...query, groupBy: [], aggregatedBy: 'day' }, maxRows));
      const { reportingCurrency: to, timeZone: zone } = publisher;
      const converted = to === null ? {} : { converted: await readConvertedTotal(executor, query, { zone, to }) };
      return {
        ...request,
        ...converted,
        rows: withUsers(addsUpSessions(query) ? rows.map(withoutSessionsOf) : rows),
        totals: {
          ...(addsUpSessions({ ...query, groupBy: [] }) ? withoutSessions(totals) : totals),
          ...(users !== null && { users: users.total }),
        },
      };
    });
  }

  async function readUsers<T>(
    query: ActivityQuery,
    work: (executor: Executor, source: KnownSource) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const source = await userSourceOf(pool, query, retention());
    if (source !== null)
      return limited(query.publisherId, { fromRollups: source === 'sketches', signal }, (executor) =>
        work(executor, source),
      );
    const day = (await usersFromDay(pool, query, retention())) ?? '';
    throw new AppError('invalid_request', { details: [{ path: '/from', message: problem('reachFrom', { day }) }] });
  }

  async function reconciliation(
    publisher: Publisher,
    period: DayRangeParameters,
    signal?: AbortSignal,
  ): Promise<DayRange & Reconciliation> {
    const range = readDayRange(period, dateIn('UTC', now() - dayMs), maxDays);
    const sums = await limited(publisher.id, { fromRollups: true, signal }, (executor) =>
      reconcile(executor, publisher.id, range.from, range.to),
    );
    return { ...range, ...sums };
  }

  function limited<T>(publisherId: number, options: ReadOptions, work: (executor: Executor) => Promise<T>): Promise<T> {
    const limit = options.fromRollups ? limitFromRollups : limitFromRaw;
    const read = (from: pg.Pool): Promise<T> => readConsistently(from, options, work);
    const readAny = (): Promise<T> => (replica === null ? read(pool) : replica.read(read));
    return limit(readAny, { client: publisherId, signal: options.signal });
  }

  return {
    asOf: () => {
      const { problem, asOfMs } = replica?.state() ?? { problem: null, asOfMs: null };
      return problem !== null || asOfMs === null ? null : new Date(asOfMs);
    },
    activity: (publisher, parameters, options) => failFast(() => activity(publisher, parameters, options)),
    explore: (query, signal) =>
      failFast(() => limited(query.publisherId, { fromRollups: true, signal }, (executor) => explore(executor, query))),
    top: (query, signal) =>
      failFast(() =>
        limited(query.publisherId, { fromRollups: true, signal }, (executor) => exploreTop(executor, query)),
      ),
    readRaw: (publisherId, work, signal) => failFast(() => limited(publisherId, { fromRollups: false, signal }, work)),
    readUsers: (query, work, signal) => failFast(() => readUsers(query, work, signal)),
    usersFromDay: (query, source) =>
      failFast(() => usersFromDay(pool, query, source === 'sketches' ? null : retention())),
    reconciliation: (publisher, range, signal) => failFast(() => reconciliation(publisher, range, signal)),
  };
}

const withoutSessionsOf = (row: ActivityRow): ActivityRow => ({ ...row, metrics: withoutSessions(row.metrics) });

/**
 * Whether adding up the rows yields the totals. It does not if the rows count a session once per offer, or if sessions
 * without the custom attribute have no row.
 */
const addsUp = ({ groupBy, filters, customValues }: ActivityQuery): boolean =>
  (!groupBy.includes('custom') || customValues !== null) &&
  (!groupBy.some((name) => name === 'offer' || name === 'campaign') ||
    filters.offer !== undefined ||
    filters.campaign !== undefined);

/** Whether a publisher has ever sent a custom attribute. */
export async function isReportKey(executor: Executor, publisherId: number, key: string): Promise<boolean> {
  const { rows } = await executor.query<{ exists: boolean }>({
    name: 'is_report_key',
    text: 'select exists (select from custom_values where publisher_id = $1 and key = $2) as exists',
    values: [publisherId, key],
  });
  return rows[0]?.exists ?? false;
}

/**
 * Returns the single currency that a list of metrics uses. If the metrics contain no amounts, returns the currency of
 * the publisher's campaigns.
 * @returns null if there are several currencies
 */
export function singleCurrencyOf(
  sums: readonly { metrics: Metrics }[],
  snapshot: Snapshot,
  publisherId: number,
): string | null {
  const currencies = new Set(sums.flatMap(({ metrics }) => metrics.money.map(({ currency }) => currency)));
  if (currencies.size === 0) return currencyOf(snapshot, publisherId);
  return currencies.size === 1 ? ([...currencies][0] ?? null) : null;
}

/**
 * Returns the currency of the campaigns provisioned to a publisher, or null if they have several currencies or are not
 * loaded.
 */
export function currencyOf({ publishers }: Snapshot, publisherId: number): string | null {
  const publisher = publishers.get(publisherId);
  if (publisher === undefined || !isLoaded(publisher)) return null;
  const currencies = new Set(publisher.index.offers.map(({ campaign }) => campaign.payout.currency));
  return currencies.size === 1 ? ([...currencies][0] ?? null) : null;
}
