import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../catalog/caller.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import { type ActivityParameters, activityQuery, type RangeParameters } from './request.ts';
import { type ActivityReport, createReportService, currencyOf, type ReportService } from './service.ts';
import { metricsView, toCsv, toJsonItems, viewNames } from './view.ts';

const metrics = Type.Object(Object.fromEntries(viewNames.map((name) => [name, Type.Number()])));
const row = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    hour: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Only by the hour: its start, with the offset of the time zone.',
      }),
    ),
    ...metrics.properties,
  },
  { additionalProperties: true, description: 'Each dimension grouped by is a field of its name.' },
);

const activityAnswer = Type.Object({
  data: Type.Object({
    from: Type.String({ format: 'date' }),
    to: Type.String({ format: 'date' }),
    time_zone: Type.String(),
    aggregated_by: Type.String(),
    group_by: Type.Array(Type.String()),
    currency: Type.Union([Type.String(), Type.Null()], {
      description: 'null: campaigns pay in several; amounts are added as they are.',
    }),
    rows: Type.Array(row),
    totals: metrics,
  }),
});

/** What a publisher's units did (docs/interface.md#reports). */
export async function reportRoutes(app: App, deps: CatalogDeps): Promise<void> {
  const reports = createReportService(deps);
  const schema = {
    summary: 'Report activity',
    description:
      'JSON, or CSV with `format=csv` or `Accept: text/csv`. Rows come in the order of time; times without activity have none.',
    tags: ['Reports'],
    querystring: activityQuery,
    response: { 200: activityAnswer, ...errorAnswers(400, 401, 403) },
  };
  const preValidation = deps.auth.requireKey('reports');
  addReconciliation(app, reports, preValidation);
  app.get('/native/activity.json', { preValidation, schema }, async (request, reply) => {
    const { publisher, snapshot } = callerOf(request);
    const parameters = request.query as ActivityParameters;
    const report = await reports.activity(publisher, parameters, request.signal);
    const { query, names } = report;
    reply.header('cache-control', 'no-store').header('vary', 'accept');
    if (wantsCsv(request, parameters.format)) {
      reply
        .header('content-disposition', `attachment; filename="activity-${query.from}-${query.to}.csv"`)
        .type('text/csv; charset=utf-8');
      return reply.send(Readable.from(toCsv(report, report.rows)) as never);
    }
    const about = {
      from: query.from,
      to: query.to,
      time_zone: query.timeZone,
      aggregated_by: query.aggregatedBy,
      group_by: names,
      currency: currencyOf(snapshot, publisher.id),
    };
    return reply.type('application/json; charset=utf-8').send(Readable.from(toJson(report, about)) as never);
  });
}

/** The whole answer, in pieces. */
function* toJson(report: ActivityReport, about: Record<string, unknown>): Generator<string | Buffer> {
  yield `{"data":${JSON.stringify(about).slice(0, -1)},"rows":[`;
  yield* toJsonItems(report, report.rows);
  yield `],"totals":${JSON.stringify(metricsView(report.totals))}}}`;
}

const counts = Type.Record(Type.String(), Type.Integer());

const reconciliationAnswer = Type.Object({
  data: Type.Object({
    from: Type.String({ format: 'date' }),
    to: Type.String({ format: 'date' }),
    sessions: Type.Integer(),
    filled_sessions: Type.Integer(),
    empty_sessions: Type.Integer(),
    empty_reasons: counts,
    dev_sessions: Type.Integer({ description: 'Counted nowhere else.' }),
    offers_served: Type.Integer(),
    events: Type.Record(Type.String(), Type.Integer(), { description: 'Those that count, by kind.' }),
    suspicious: Type.Record(Type.String(), counts, { description: 'Those that do not, by kind and reason.' }),
    offers_not_seen: Type.Integer(),
    impressions_not_clicked: Type.Integer(),
    balanced: Type.Boolean({ description: 'Offers served ≥ impressions ≥ clicks.' }),
  }),
});

/** What became of every session. */
function addReconciliation(
  app: App,
  reports: ReportService,
  preValidation: ReturnType<CatalogDeps['auth']['requireKey']>,
): void {
  const schema = {
    summary: 'Reconcile sessions, offers and events',
    description:
      'Of the sessions of UTC days (default: yesterday, at most 400), as of two seconds ago. Events belong to the day of their session.',
    tags: ['Reports'],
    querystring: Type.Pick(activityQuery, ['api_key', 'from', 'to']),
    response: { 200: reconciliationAnswer, ...errorAnswers(400, 401, 403) },
  };
  app.get('/native/reconciliation.json', { preValidation, schema }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return {
      data: await reports.reconciliation(callerOf(request).publisher, request.query as RangeParameters, request.signal),
    };
  });
}

function wantsCsv({ headers }: FastifyRequest, format: 'json' | 'csv' | undefined): boolean {
  if (format !== undefined) return format === 'csv';
  const accept = headers.accept ?? '';
  return /\btext\/csv\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
}
