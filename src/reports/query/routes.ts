import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { type Caller, callerOf } from '../../accounts/caller.ts';
import { forLimitedKeys } from '../../management/http.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import type { Replica } from '../../platform/db/replica.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import type { DayRangeParameters } from '../../platform/http/day-range.ts';
import { type ActivityReport, createReportService, singleCurrencyOf } from '../service.ts';
import { amountsView, moneyView, toCsv, toJsonItems } from '../view.ts';
import type { ActivityParameters } from './request.ts';
import { activitySchema, reconciliationSchema } from './schemas.ts';

/** Registers the routes for a publisher's activity report and reconciliation (docs/reference/management.md#reports). */
export async function reportRoutes(
  app: App,
  deps: {
    pool: pg.Pool;
    replica: Replica | null;
    dbHealth: DatabaseHealth;
    config: { retentionRawDays: number };
    auth: Authenticator<Caller>;
    now: () => number;
  },
): Promise<void> {
  const reports = createReportService(deps);
  const preValidation = deps.auth.requireKey('reports');

  app.get(
    '/native/activity.json',
    { preValidation, schema: activitySchema, ...forLimitedKeys },
    async (request, reply) => {
      const { publisher, snapshot, key } = callerOf(request);
      const parameters = request.query as ActivityParameters;
      const asOf = reports.asOf();
      const report = await reports.activity(publisher, parameters, {
        signal: request.signal,
        resources: key?.restrictions?.resources ?? null,
      });
      const currency = singleCurrencyOf([...report.rows, { metrics: report.totals }], snapshot, publisher.id);
      reply.headers({ 'cache-control': 'no-store', vary: 'accept', ...asOfHeader(asOf) });
      if (wantsCsv(request, parameters.format)) {
        const { from, to } = report.query;
        reply.header('content-disposition', `attachment; filename="activity-${from}-${to}.csv"`);
        return reply.type('text/csv; charset=utf-8').send(Readable.from(toCsv(report, report.rows, currency)) as never);
      }
      const json = toJson(report, currency, asOf);
      return reply.type('application/json; charset=utf-8').send(Readable.from(json) as never);
    },
  );

  app.get('/native/reconciliation.json', { preValidation, schema: reconciliationSchema }, async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', ...asOfHeader(reports.asOf()) });
    const { publisher } = callerOf(request);
    return { data: await reports.reconciliation(publisher, request.query as DayRangeParameters, request.signal) };
  });
}

/** Returns the `perkwire-as-of` header for a report that was read from a replica. */
export const asOfHeader = (asOf: Date | null): Record<string, string> =>
  asOf === null ? {} : { 'perkwire-as-of': asOf.toISOString() };

/** Yields the complete response in chunks. */
function* toJson(report: ActivityReport, currency: string | null, asOf: Date | null): Generator<string | Buffer> {
  const { query, names } = report;
  const head = {
    from: query.from,
    to: query.to,
    time_zone: query.timeZone,
    aggregated_by: query.aggregatedBy,
    group_by: names,
    ...(asOf !== null && { as_of: asOf.toISOString() }),
    currency,
    revenue_by_currency: moneyView(report.totals.money),
    ...(report.converted !== undefined && { revenue_converted: report.converted }),
  };
  yield `{"data":${JSON.stringify(head).slice(0, -1)},"rows":[`;
  yield* toJsonItems(report, report.rows, currency);
  yield `],"totals":${JSON.stringify(amountsView(report.totals, currency))}}}`;
}

function wantsCsv({ headers }: FastifyRequest, format: 'json' | 'csv' | undefined): boolean {
  if (format !== undefined) return format === 'csv';
  const accept = headers.accept ?? '';
  return /\btext\/csv\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
}
