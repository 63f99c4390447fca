import type { Executor } from '../../platform/db/pool.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { offsetMs } from '../../platform/lib/time-zone.ts';
import { areRollupsCurrent, lastCompleteHour, readHours } from '../../reports/hours.ts';
import { type Alert, type AlertFact, metricKind } from '../kinds.ts';
import { hoursOf, type Measurement, type MetricCondition, measure, measureHistory } from './measure.ts';

type MetricAlert = MetricCondition & { id: number; name: string; publisher_id: number };

/** Number of days for which the history of a condition is shown. */
export const historyDays = 30;

/** Start of the current hour in a time zone, in which hours may begin at half past in UTC. */
function hourStart(atMs: number, timeZone: string): number {
  const offset = offsetMs(timeZone, atMs);
  return Math.floor((atMs + offset) / hourMs) * hourMs - offset;
}

/**
 * Returns the alert facts for all metric alerts whose condition is met in their last complete hours.
 * @returns null if the rollups are behind, so that the conditions cannot be evaluated
 */
export async function findMetricFacts(executor: Executor, nowMs: number): Promise<AlertFact[] | null> {
  if (!(await areRollupsCurrent(executor, nowMs))) return null;
  const { rows } = await executor.query<MetricAlert & { time_zone: string }>(
    `select m.id, m.name, m.publisher_id, m.metric, m.placement, m.comparison, m.threshold, m.currency,
      m.window_hours, p.time_zone
    from metric_alerts m join publishers p on p.id = m.publisher_id where m.active order by m.id`,
  );
  const facts: AlertFact[] = [];
  const endMs = lastCompleteHour(nowMs);
  for (const { time_zone: timeZone, ...alert } of rows) {
    const { id, publisher_id: publisherId, placement, currency } = alert;
    const hours = await readHours(executor, { publisherId, placement, currency, endMs, hours: hoursOf(alert) });
    const measurement = measure(alert, hours, hours.length);
    if (measurement?.isReached !== true) continue;
    const { value, limit } = measurement;
    const until = new Date(hourStart(nowMs, timeZone)).toISOString();
    const cause = new Date(nowMs).toISOString();
    const data = { ...conditionOf(alert), alert_id: id, name: alert.name, value, limit, until };
    facts.push({ publisherId, kind: metricKind, subject: String(id), cause, data });
  }
  return facts;
}

/** Returns only the fields of a condition. */
export const conditionOf = ({
  metric,
  placement,
  comparison,
  threshold,
  currency,
  window_hours: length,
}: MetricCondition): MetricCondition => ({
  metric,
  placement,
  comparison,
  threshold,
  currency,
  window_hours: length,
});

/** History of a condition: the end of each hour, and the measurement of the window that ends then. */
export type History = readonly { atMs: number; measurement: Measurement | null }[];

/** Measures a condition at the end of each hour in the last days before a given time. */
export async function readHistory(
  executor: Executor,
  { publisherId, timeZone, condition }: { publisherId: number; timeZone: string; condition: MetricCondition },
  { nowMs, days = historyDays }: { nowMs: number; days?: number },
): Promise<History> {
  const measurements = days * 24;
  const { placement, currency } = condition;
  const endMs = lastCompleteHour(nowMs);
  const hours = measurements + hoursOf(condition);
  const sums = await readHours(executor, { publisherId, placement, currency, endMs, hours });
  const lastMs = hourStart(nowMs, timeZone);
  return measureHistory(condition, sums, measurements).map((measurement, index) => ({
    atMs: lastMs - (measurements - 1 - index) * hourMs,
    measurement,
  }));
}

/** Drop of a placement's metric that raises an alert, in percent. */
const dropPercent = 50;

/**
 * Returns the condition that raised an alert, or null if the alert is not about a metric. Alerts about placements
 * compare with the previous week.
 */
export function conditionOfAlert({ kind, data }: Alert): MetricCondition | null {
  if (kind === metricKind) return conditionOf(data as unknown as MetricCondition);
  if (kind !== 'placement.fill_rate' && kind !== 'placement.revenue') return null;
  return {
    metric: kind === 'placement.revenue' ? 'revenue' : 'fill_rate',
    placement: String(data.placement),
    comparison: 'drop',
    threshold: dropPercent,
    currency: typeof data.currency === 'string' ? data.currency : null,
    window_hours: Number(data.hours),
  };
}
