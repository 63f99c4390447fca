import type { PublisherContext } from '../../catalog/pages.ts';
import type { Publisher } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf, minuteMs } from '../../platform/lib/time.ts';
import { periodOf } from '../../platform/lib/time-zone.ts';
import { type RowMetricName, rowMetricOf } from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { filtersOf } from '../pages/explorer/answer.ts';
import type { Names } from '../pages/explorer/names.ts';
import { type Periods, periodsOf } from '../pages/explorer/periods.ts';
import { attributeOf, type ExplorerState, queryOf, readState } from '../pages/explorer/state.ts';
import { readRange } from '../query/query.ts';
import { perkMetrics, type RowCursor, type RowStatus, type RowsQuery, readCursor, rowStatuses } from './query.ts';

/** State of the page with the rows behind a number. All of it is in the URL. */
export type RowsState = {
  /** Range and filters, as in the report. */
  report: ExplorerState;
  metric: RowMetricName;
  status: RowStatus;
  /** Start of a single hour of the range, in epoch milliseconds, or null for the whole range. */
  hourMs: number | null;
  /** Number of minutes before now to list instead of the range, or null. */
  minutes: number | null;
  after: RowCursor | null;
};

/** Maximum number of last minutes that can be listed. */
const maxMinutes = 1440;

/** Parses URL query parameters. Invalid values are ignored, so that old links keep working. */
export function readRowsState(context: PublisherContext): RowsState {
  const query = context.request.query as Record<string, unknown>;
  const report = readState(query);
  const hourMs = Date.parse(queryText(context, 'hour'));
  const minutes = Number(queryText(context, 'minutes'));
  return {
    report,
    metric: perkMetrics.find((name) => name === queryText(context, 'metrics')) ?? rowMetricOf(report.metric),
    status: rowStatuses.find((status) => status === queryText(context, 'status')) ?? 'counted',
    hourMs: hourMs > 0 && hourMs < 1e14 ? hourMs : null,
    minutes: Number.isInteger(minutes) && minutes > 0 && minutes <= maxMinutes ? minutes : null,
    after: readCursor(queryText(context, 'after')),
  };
}

/** Serialises a state to a query string, without the position in the list. */
export function rowsQueryOf({ report, metric, status, hourMs, minutes }: RowsState): string {
  const query = new URLSearchParams(queryOf({ ...report, metrics: [metric], metric }));
  if (status !== 'counted') query.set('status', status);
  if (hourMs !== null) query.set('hour', new Date(hourMs).toISOString());
  if (minutes !== null) query.set('minutes', String(minutes));
  return `?${query}`;
}

type Question = { state: RowsState; publisher: Publisher; names: Names; nowMs: number; retentionRawDays: number };

/** Rows to list, with the days of their range. `deletedBefore` is set if rows of the range have been deleted. */
export type RowsRequest = { query: RowsQuery; periods: Periods; deletedBefore: string | null };

/**
 * Returns the rows to list for a state.
 * @throws AppError invalid_request
 */
export async function rowsRequestOf(executor: Executor, question: Question): Promise<RowsRequest> {
  const { state, publisher, names, nowMs, retentionRawDays } = question;
  const periods = periodsOf({ ...state.report, compare: 'none', interval: 'day' }, publisher.timeZone, nowMs);
  const { start, end } = await readRange(executor, { ...periods.days, timeZone: publisher.timeZone });
  const storedFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const [startMs, endMs] = timesOf(state, publisher, nowMs) ?? [start.getTime(), end.getTime()];
  const custom = Object.entries(state.report.filters).flatMap(([name, values]) => {
    const key = attributeOf(name);
    return key === null ? [] : [{ key, values }];
  });
  return {
    periods,
    deletedBefore: dayOf(startMs) < storedFrom ? storedFrom : null,
    query: {
      publisherId: publisher.id,
      metric: state.metric,
      status: state.status,
      startMs,
      endMs,
      filters: filtersOf(state.report, names),
      custom,
      storedFrom,
    },
  };
}

/** Returns the start and end of the hour or of the last minutes that a state selects, or null if it selects days. */
function timesOf({ hourMs, minutes }: RowsState, { timeZone }: Publisher, nowMs: number): [number, number] | null {
  if (minutes !== null) return [Math.floor(nowMs / minuteMs - minutes + 1) * minuteMs, nowMs + 1];
  return hourMs === null ? null : [hourMs, periodOf('hour', timeZone, hourMs).endMs];
}
