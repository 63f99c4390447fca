import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import { type Caller, callerOf } from '../../accounts/caller.ts';
import { callOf, publisherIdParameter } from '../../management/http.ts';
import { AppError, notFound } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers, integerParameter, noNul } from '../../platform/http/schemas.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { fromMicros } from '../../platform/money.ts';
import { problem } from '../../platform/problem.ts';
import { readRange } from '../query/query.ts';
import { type ActivityParameters, activityQuery, readActivity } from '../query/request.ts';
import { asOfHeader } from '../query/routes.ts';
import { isReportKey, type ReportService } from '../service.ts';
import { type ActivityRecord, countOf, readCursor, readRows, rowMetrics, rowStatuses, writeCursor } from './query.ts';

const [defaultLimit, maxLimit] = [50, 1000];

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const amount = Type.Union([Type.Number(), Type.Null()], { description: '`null` if the row has no amount.' });

const row = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    kind: Type.String({ description: '`session`, an event kind such as `click`, `conversion` or `void`.' }),
    session_id: Type.String({ format: 'uuid' }),
    offer_id: Type.Union([Type.Integer(), Type.Null()], { description: '`null` for sessions.' }),
    campaign_id: Type.Union([Type.Integer(), Type.Null()]),
    placement: Type.String(),
    country: Type.String(),
    device: Type.String(),
    os: Type.String(),
    counted: Type.Integer({ description: 'What reports count: 1, 0 for excluded rows, or -1 for a void.' }),
    reason: orNull(
      'Why the row is not counted (`bot`, `qr`, `no_impression`, `too_fast`, `dev`) or not billed (`unbilled`, ' +
        '`unbilled_budget`, `unbilled_currency`), or why a session is empty.',
    ),
    revenue: amount,
    unbilled: amount,
    currency: orNull('Currency of the amounts.'),
    event: orNull("Advertiser's name of a conversion."),
    txn_id: orNull(
      "Advertiser's transaction ID of a conversion. `null` if the conversion has no ID or the user was erased.",
    ),
  },
  { title: 'ActivityRow' },
);

const {
  group_by: _group,
  aggregated_by: _aggregation,
  metrics: _metrics,
  format: _format,
  ...filters
} = activityQuery.properties;
const own = {
  metric: Type.Optional(
    Type.Unsafe<string>({ type: 'string', enum: [...rowMetrics], description: 'Metric. Defaults to `sessions`.' }),
  ),
  status: Type.Optional(
    Type.Unsafe<(typeof rowStatuses)[number]>({
      type: 'string',
      enum: [...rowStatuses],
      description: 'Rows that the metric counts, rows that it leaves out, or all rows. Defaults to `counted`.',
    }),
  ),
  limit: integerParameter(
    { minimum: 1, maximum: maxLimit },
    { pattern: '^([1-9]\\d{0,2}|1000)$', description: 'Rows per page, 1 to 1000. Defaults to 50.' },
  ),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the previous page.' })),
  publisher_id: publisherIdParameter,
};

const schema = {
  operationId: 'listActivityRows',
  summary: 'List the rows behind a metric',
  description:
    'Returns the sessions, events or conversions that a metric of the activity report counts, newest session first. ' +
    'Rows are stored for `RETENTION_RAW_DAYS` days.',
  tags: ['Reports'],
  querystring: Type.Object(
    { ...filters, ...own },
    { additionalProperties: Type.String({ maxLength: 2000, pattern: noNul }) },
  ),
  response: {
    200: Type.Object({
      message: Type.String(),
      data: Type.Object({
        from: Type.String({ format: 'date' }),
        to: Type.String({ format: 'date' }),
        stored_from: Type.String({
          format: 'date',
          description: 'Earliest UTC day of sessions whose rows are still stored.',
        }),
        rows: Type.Array(row),
        next_cursor: orNull('`cursor` of the next page, or `null` on the last page. A page can be short or empty.'),
      }),
    }),
    ...errorAnswers(400, 401, 403, 404),
  },
};

type RowsRouteDeps = {
  pool: pg.Pool;
  config: { retentionRawDays: number };
  auth: Authenticator<Caller>;
  now: () => number;
};

/** Registers the route for the rows behind the metrics of a report (docs/guides/reports.md#rows-behind-a-number). */
export async function rowsRoutes(app: App, deps: RowsRouteDeps & { reports: ReportService }): Promise<void> {
  const { pool, config, auth, now, reports } = deps;
  const preValidation = auth.requireKey('reports', 'accounts');
  app.get('/manage/v1/reports/rows', { schema, preValidation }, async (request, reply) => {
    const { publisherId } = callOf(request);
    const publisher = callerOf(request).snapshot.publishers.get(publisherId);
    if (publisher === undefined) throw notFound('publisher');
    const { metric = 'sessions', status = 'counted', limit, cursor, publisher_id: _id, ...parameters } = request.query;
    const after = cursor === undefined ? null : readCursor(cursor);
    if (cursor !== undefined && after === null)
      throw new AppError('invalid_request', {
        details: [{ path: '/querystring/cursor', message: problem('nextCursor') }],
      });
    const { query } = await readActivity(parameters as ActivityParameters, {
      publisher,
      nowMs: now(),
      hasKey: (key) => isReportKey(pool, publisherId, key),
      resources: null,
    });
    const { customKey, customValues, otherCustom = [] } = query;
    const storedFrom = dayOf(now() - config.retentionRawDays * dayMs);
    const asOf = reports.asOf();
    const page = await reports.readRaw(
      publisherId,
      async (executor) => {
        const { start, end } = await readRange(executor, query);
        const custom = [
          ...(customKey === null || customValues === null ? [] : [{ key: customKey, values: customValues }]),
          ...otherCustom,
        ];
        const times = { startMs: start.getTime(), endMs: end.getTime() };
        const rows = { publisherId, metric, status, ...times, filters: query.filters, custom, storedFrom };
        return readRows(executor, rows, { after, limit: Number(limit ?? defaultLimit) });
      },
      request.signal,
    );
    reply.headers({ 'cache-control': 'no-store', ...asOfHeader(asOf) });
    const { from, to } = query;
    const next = page.next === null ? null : writeCursor(page.next);
    return {
      message: 'Rows found.',
      data: { from, to, stored_from: storedFrom, rows: page.rows.map(viewOf), next_cursor: next },
    };
  });
}

const viewOf = ({ offer_id, campaign_id, currency, ...record }: ActivityRecord) => ({
  at: record.at.toISOString(),
  kind: record.kind,
  session_id: record.session_id,
  offer_id: offer_id === 0 ? null : offer_id,
  campaign_id: offer_id === 0 ? null : campaign_id,
  placement: record.placement,
  country: record.country,
  device: record.device,
  os: record.os,
  counted: countOf(record),
  reason: record.reason,
  revenue: currency === '' ? null : fromMicros(Number(record.revenue_micros)),
  unbilled: currency === '' ? null : fromMicros(Number(record.unbilled_micros)),
  currency: currency === '' ? null : currency,
  event: record.event,
  txn_id: record.txn_id,
});
