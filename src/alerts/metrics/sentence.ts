import { t } from '../../platform/i18n/messages.ts';
import { reader } from '../../platform/i18n/reader.ts';
import { count, percent } from '../../shell/format.ts';
import { isChange, isRate, type MetricCondition } from './measure.ts';

export const metricName = ({ metric }: MetricCondition): string => t(`metrics.${metric}`);

/** Formats a measured value or a limit. Rates are between 0 and 1. */
export function valueText({ metric, currency }: MetricCondition, value: number): string {
  if (isRate(metric)) return percent(value);
  if (metric !== 'revenue' || currency === null) return count(Math.round(value));
  return new Intl.NumberFormat(reader().locale, { style: 'currency', currency }).format(value);
}

/** Formats the threshold, which is in percent for rates and changes. */
const thresholdText = (condition: MetricCondition): string =>
  isChange(condition) || isRate(condition.metric)
    ? percent(condition.threshold / 100)
    : valueText(condition, condition.threshold);

/** Describes a condition in one sentence without a full stop, such as "Fill rate at checkout below 60% in 6 hours". */
export const conditionText = (condition: MetricCondition): string =>
  t('metricAlerts.condition', {
    metric: metricName(condition),
    where: placeText(condition),
    comparison: condition.comparison,
    threshold: thresholdText(condition),
    hours: condition.window_hours,
  });

const placeText = ({ placement }: MetricCondition): string =>
  placement === null ? t('metricAlerts.everywhere') : t('metricAlerts.at', { placement });

/** Describes what was measured, such as "Fill rate at checkout was 41% in the 6 hours until 11:00". */
export const measuredText = (
  condition: MetricCondition,
  { value, limit, until }: { value: number; limit: number; until: string },
): string =>
  t('metricAlerts.measured', {
    metric: metricName(condition),
    where: placeText(condition),
    value: valueText(condition, value),
    limit: valueText(condition, limit),
    hours: condition.window_hours,
    until,
  });
