import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type Cell, drawnChart, table } from '../../shell/components.ts';
import { moment, momentText } from '../../shell/format.ts';
import type { History } from './check.ts';
import { firingsOf, isRate, type MetricCondition } from './measure.ts';
import { metricName, valueText } from './sentence.ts';

/** Maximum number of listed periods. */
const maxListed = 5;

const chartStyle = ({ metric, currency }: MetricCondition) =>
  isRate(metric) ? ('rate' as const) : metric === 'revenue' ? { currency } : ('count' as const);

/** Renders what a condition measured, next to its limit, with the periods in which it was met. */
export function historyChart({ publisher }: PublisherContext, condition: MetricCondition, history: History): Html {
  const format = (value: number): string => valueText(condition, value);
  const measurements = history.map(({ measurement }) => measurement);
  const times = firingsOf(measurements).length;
  // A series without any value would keep the others from being drawn.
  const reached =
    times === 0
      ? []
      : [
          {
            label: t('metricAlerts.reached'),
            values: measurements.map((measurement) => (measurement?.isReached === true ? measurement.value : null)),
            isHighlighted: true,
            total: t('metricAlerts.times', { times }),
          },
        ];
  const valuesOf = (pick: (at: NonNullable<(typeof measurements)[number]>) => number | null) =>
    measurements.map((measurement) => measurement && pick(measurement));
  return drawnChart({
    caption: t('metricAlerts.chart', { metric: metricName(condition), hours: condition.window_hours }),
    heading: t('metricAlerts.until'),
    zone: publisher.timeZone,
    style: chartStyle(condition),
    format,
    times: history.map(({ atMs }) => ({ text: momentText(publisher, atMs), atMs })),
    series: [
      { label: metricName(condition), values: valuesOf(({ value }) => value), summary: 'latest' },
      { label: t('metricAlerts.limit'), values: valuesOf(({ limit }) => limit), isDashed: true, summary: 'latest' },
      ...reached,
    ],
  });
}

/** Renders the periods in which a condition was met, the latest one first. */
export function firingTable({ publisher }: PublisherContext, condition: MetricCondition, history: History): Html {
  const measurements = history.map(({ measurement }) => measurement);
  const firings = firingsOf(measurements).reverse();
  if (firings.length === 0) return nothing;
  const hidden = firings.length - maxListed;
  const isLow = condition.comparison === 'below' || condition.comparison === 'drop';
  const columns = [
    { text: t('metricAlerts.from') },
    { text: t('metricAlerts.duration') },
    { text: t(isLow ? 'metricAlerts.lowest' : 'metricAlerts.highest'), numeric: true },
  ];
  const rows = firings.slice(0, maxListed).map(({ from, to }): Cell[] => {
    const values = measurements.slice(from, to + 1).flatMap((measurement) => measurement?.value ?? []);
    const extreme = isLow ? Math.min(...values) : Math.max(...values);
    const since = moment(publisher, new Date(history[from]?.atMs ?? 0));
    return [since, t('metricAlerts.windowLength', { hours: to - from + 1 }), valueText(condition, extreme)];
  });
  return html`
    ${table(t('metricAlerts.periods'), columns, rows)}
    ${hidden > 0 && html`<p class="hint">${t('metricAlerts.more', { count: hidden })}</p>`}`;
}
