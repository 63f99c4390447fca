import { Type } from '@sinclair/typebox';
import { normaliseName } from '../../catalog/names.ts';
import { checkDecimals, flag, nameField } from '../../management/fields.ts';
import { orNull, type Resource, stamps, timestamp } from '../../management/resource.ts';
import { patternProblem } from '../../management/schema-errors.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { isCurrency } from '../../platform/money.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { metricKind } from '../kinds.ts';
import { alertMetrics, comparisons, isChange, isRate, type MetricCondition, windowLengths } from './measure.ts';

/** Maximum number of metric alerts per publisher. */
const maxMetricAlerts = 50;

const union = <Name extends string>(names: readonly Name[], options: object = {}) =>
  Type.Union(
    names.map((name) => Type.Literal(name)),
    options,
  );

/** SQL for the alerts that a metric alert has raised. */
const raised = `from alerts a where a.publisher_id = metric_alerts.publisher_id and a.kind = '${metricKind}'
  and a.subject = metric_alerts.id::text`;

/** Resource for the thresholds at which a publisher gets an alert (docs/reference/management.md#metric-alerts). */
export const metricAlerts: Resource = {
  name: 'metric-alerts',
  noun: 'metric alert',
  table: 'metric_alerts',
  key: 'id',
  permission: 'configurations',
  input: Type.Object(
    {
      name: nameField(),
      metric: union(alertMetrics, { description: 'Metric of the [reports](#reports).' }),
      placement: orNull(Type.String({ minLength: 1, maxLength: 128 }), {
        default: null,
        description: 'Placement to measure. `null` for all placements.',
      }),
      comparison: union(comparisons, {
        description:
          '`below` or `above` the threshold; or a `drop` or `rise` by the threshold, in percent, compared with the ' +
          'same hours of the previous week.',
      }),
      threshold: Type.Number({
        minimum: 0,
        maximum: 1e12,
        description: 'Count or amount; for rates and changes, percent.',
      }),
      currency: orNull(Type.String({ pattern: '^[A-Z]{3}$', [patternProblem]: problem('currencyCode') }), {
        default: null,
        description: 'Currency of the revenue (ISO 4217). `null` for other metrics.',
      }),
      window_hours: Type.Union(
        windowLengths.map((length) => Type.Literal(length)),
        { default: 6, description: 'Number of hours to add up: 1, 3, 6, 12 or 24.' },
      ),
      active: flag(true),
    },
    { additionalProperties: false },
  ),
  readOnly: {
    firing: Type.Boolean({ description: 'Whether an alert is open.' }),
    fired_at: orNull(timestamp(), { title: 'FiredAt', description: 'Time of the latest alert in the last 90 days.' }),
    fired_30_days: Type.Integer({ description: 'Number of alerts in the last 30 days.' }),
    ...stamps,
  },
  expressions: () => ({
    firing: `exists (select ${raised} and a.ended_at is null)`,
    fired_at: `(select max(a.raised_at) ${raised})`,
    fired_30_days: `(select count(*)::int ${raised} and a.raised_at > now() - interval '30 days')`,
  }),
  sorts: { id: 'integer', name: 'text', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['metric', 'placement', 'active'],
  searched: ['name'],
  prepare: (values) =>
    typeof values.placement === 'string' ? { ...values, placement: normaliseName(values.placement) } : values,
  check: (values) => checkCondition(values as MetricCondition),
  beforeSave: async ({ executor, publisherId }, _values, current) => {
    if (current !== null) return;
    await executor.query('select 1 from publishers where id = $1 for update', [publisherId]);
    const { rows } = await executor.query<{ count: number }>(
      'select count(*)::int as count from metric_alerts where publisher_id = $1',
      [publisherId],
    );
    if ((rows[0]?.count ?? 0) >= maxMetricAlerts)
      throw new AppError('conflict', { message: problem('maxMetricAlerts', { max: maxMetricAlerts }) });
  },
};

/** Validates the parts of a condition that depend on each other. */
export function checkCondition(condition: MetricCondition): ErrorDetail[] {
  const { metric, comparison, threshold, currency } = condition;
  const wrong = (path: string, message: Problem): ErrorDetail[] => [{ path, message }];
  if (metric === 'revenue' && (currency === null || !isCurrency(currency)))
    return wrong('/currency', problem('currencyIso'));
  if (metric !== 'revenue' && currency !== null) return wrong('/currency', problem('currencyOnlyRevenue'));
  const isPercent = isChange(condition) || isRate(metric);
  if (isPercent && threshold > 100 && comparison !== 'rise') return wrong('/threshold', problem('atMostPercent'));
  if (comparison !== 'above' && threshold === 0) return wrong('/threshold', problem('moreThanZero'));
  return checkDecimals({ threshold }, 'threshold', 6);
}
