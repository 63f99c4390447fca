import { type TObject, Type } from '@sinclair/typebox';
import type pg from 'pg';
import type { Snapshot } from '../../catalog/types.ts';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { orNull } from '../../management/resource.ts';
import { openManagementScope, resourceRoutes } from '../../management/resource-routes.ts';
import { strictBody } from '../../management/strict-body.ts';
import { AppError, notFound } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { conditionOf, historyDays, readHistory } from './check.ts';
import { firingsOf, type MetricCondition } from './measure.ts';
import { checkCondition, metricAlerts } from './resource.ts';

const { name: _name, active: _active, ...conditionFields } = metricAlerts.input.properties;

const conditionBody: TObject = Type.Object(
  Object.fromEntries(
    Object.entries(conditionFields).map(([name, schema]) => [
      name,
      Object.hasOwn(schema, 'default') ? Type.Optional(schema) : schema,
    ]),
  ),
  { title: 'MetricAlertCondition', additionalProperties: false },
);

const time = Type.String({ format: 'date-time' });
const amount = Type.Number({ description: 'Count, amount, or rate from 0 to 1.' });
const previewAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      days: Type.Integer({ description: 'Number of days that were measured.' }),
      times: Type.Integer({ description: 'Number of alerts in these days.' }),
      firings: Type.Array(
        Type.Object({ from: time, to: time, hours: Type.Integer() }, { title: 'MetricAlertFiring' }),
        { description: 'Periods in which the condition was met, oldest first.' },
      ),
      latest: orNull(Type.Object({ at: time, value: amount, limit: amount }), {
        title: 'MetricAlertMeasurement',
        description: 'Latest measurement. `null` if there is too little activity.',
      }),
    }),
  },
  { title: 'MetricAlertPreviewAnswer' },
);

type RouteDeps = {
  http: ManagementHttp;
  pool: pg.Pool;
  catalog: { current: () => Snapshot };
  now: () => number;
};

/** Registers the routes for metric alerts (docs/reference/management.md#metric-alerts). */
export async function metricAlertRoutes(app: App, { http, pool, catalog, now }: RouteDeps): Promise<void> {
  const schema = {
    operationId: 'previewMetricAlert',
    summary: 'Preview a metric alert',
    description: 'Returns how often a condition would have raised an alert in the last 30 days, without storing it.',
    tags: ['Metric alerts'],
    querystring: publisherQuery,
    body: conditionBody,
    response: { 200: previewAnswer, ...errorAnswers(400, 401, 403) },
  };
  const hooks = { ...requirePermission(http, 'configurations'), ...strictBody, config: { effect: 'read' } as const };
  app.post('/manage/v1/metric-alerts/preview', { schema, ...hooks }, async (request, reply) => {
    const { publisherId } = callOf(request);
    const publisher = catalog.current().publishers.get(publisherId);
    if (publisher === undefined) throw notFound('publisher');
    const condition = conditionOf(request.body as MetricCondition);
    const details = checkCondition(condition);
    if (details.length > 0) throw new AppError('invalid_request', { details });
    const query = { publisherId, timeZone: publisher.timeZone, condition };
    const history = await readHistory(pool, query, { nowMs: now() });
    const firings = firingsOf(history.map(({ measurement }) => measurement));
    const timeAt = (index: number): string => new Date(history[index]?.atMs ?? 0).toISOString();
    const last = history.at(-1);
    reply.header('cache-control', 'no-store');
    return {
      message: 'Condition measured.',
      data: {
        days: historyDays,
        times: firings.length,
        firings: firings.map(({ from, to }) => ({ from: timeAt(from), to: timeAt(to), hours: to - from + 1 })),
        latest:
          last === undefined || last.measurement === null
            ? null
            : { at: timeAt(history.length - 1), value: last.measurement.value, limit: last.measurement.limit },
      },
    };
  });
  await app.register(async (scope) => {
    openManagementScope(scope);
    resourceRoutes(scope, http, metricAlerts, ['list', 'create', 'get', 'update', 'remove']);
  });
}
