import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { drawnChart } from '../../shell/chart.ts';
import { card } from '../../shell/components.ts';
import { momentText, percent, utc } from '../../shell/format.ts';
import type { ExperimentReport } from '../report/report.ts';

/** The lift in revenue of each arm as it stood day by day, between the ends of its interval. */
export function overTimeCard({ over_time: days, arms }: ExperimentReport): Html {
  const charts = arms.slice(1).flatMap(({ arm }) => chartOf(arm, days));
  return charts.length === 0
    ? nothing
    : card(t('experiments.overTime'), html`${charts}`, { lead: t('experiments.narrows') });
}

function chartOf(arm: string, days: ExperimentReport['over_time']): Html[] {
  const points = days.flatMap(({ day, arms }) => {
    const lift = arms.find((one) => one.arm === arm)?.lift ?? null;
    return lift === null ? [] : [{ day, lift }];
  });
  // A line has two ends.
  if (points.length < 2) return [];
  const chart = drawnChart({
    caption: t('experiments.overTimeOf', { arm }),
    heading: t('layout.day'),
    times: points.map(({ day }) => ({ text: momentText(utc, Date.parse(day), 'day'), atMs: Date.parse(day) })),
    series: [
      { label: t('experiments.lift'), values: points.map(({ lift }) => lift.estimate) },
      { label: t('experiments.low'), values: points.map(({ lift }) => lift.low), isDashed: true },
      { label: t('experiments.high'), values: points.map(({ lift }) => lift.high), isDashed: true },
    ],
    style: 'rate',
    format: percent,
  });
  return [html`<h3>${arm}</h3>${chart}`];
}
