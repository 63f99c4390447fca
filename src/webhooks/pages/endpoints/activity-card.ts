import type { PublisherContext } from '../../../catalog/pages.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { card, drawnChart } from '../../../shell/components.ts';
import { count, perLocale } from '../../../shell/format.ts';
import { bucketMs, type readActivity } from '../../activity/activity.ts';

type ActivityRow = Awaited<ReturnType<typeof readActivity>>[number];

/** Returns the time at which the charts start, in epoch milliseconds: one day ago, aligned to a quarter-hour. */
export const activitySinceMs = (nowMs: number): number => Math.floor((nowMs - dayMs) / bucketMs + 1) * bucketMs;

const timeFormat = perLocale(
  (locale, timeZone) =>
    new Intl.DateTimeFormat(locale, { weekday: 'short', hour: '2-digit', minute: '2-digit', timeZone }),
);

/** Renders charts of an endpoint's success, latency and backlog in the last 24 hours. */
export function activityCard({ publisher }: PublisherContext, rows: readonly ActivityRow[], nowMs: number): Html {
  if (rows.length === 0) return card(t('webhooks.lastDay'), html`<p class="hint">${t('webhooks.noAttempts')}</p>`);
  const rowByTime = new Map(rows.map((row) => [row.atMs, row]));
  const zone = publisher.timeZone;
  const sinceMs = activitySinceMs(nowMs);
  const text = timeFormat(zone);
  const times = Array.from({ length: dayMs / bucketMs }, (_, index) => {
    const atMs = sinceMs + index * bucketMs;
    return { atMs, text: text.format(atMs) };
  });
  const values = (read: (row: ActivityRow) => number | null, otherwise: number | null) =>
    times.map(({ atMs }) => {
      const row = rowByTime.get(atMs);
      return row === undefined ? otherwise : read(row);
    });
  const attempts = ({ delivered, failed }: ActivityRow): number => delivered + failed;
  const common = { heading: t('webhooks.time'), times, zone, format: count };
  const calls = rows.reduce((sum, row) => sum + attempts(row), 0);
  const averageMs = rows.reduce((sum, { totalMs }) => sum + totalMs, 0) / calls;
  const slowestMs = Math.max(...rows.map((row) => row.slowestMs));
  const ofPeriod = (ms: number): string => (calls === 0 ? '–' : count(Math.round(ms)));
  const ofCalls = (read: (row: ActivityRow) => number) =>
    values((row) => (attempts(row) === 0 ? null : Math.round(read(row))), null);
  return card(
    t('webhooks.lastDay'),
    html`
      <h3>${t('webhooks.attempts')}</h3>
      ${drawnChart({
        ...common,
        caption: t('webhooks.attemptsCaption'),
        series: [
          { label: t('webhooks.delivered'), values: values(({ delivered }) => delivered, 0) },
          { label: t('webhooks.failed'), values: values(({ failed }) => failed, 0) },
        ],
      })}
      <h3>${t('webhooks.latency')}</h3>
      ${drawnChart({
        ...common,
        caption: t('webhooks.latencyCaption'),
        series: [
          {
            label: t('webhooks.average'),
            values: ofCalls((row) => row.totalMs / attempts(row)),
            total: ofPeriod(averageMs),
          },
          { label: t('webhooks.slowest'), values: ofCalls((row) => row.slowestMs), total: ofPeriod(slowestMs) },
        ],
      })}
      <h3>${t('webhooks.backlog')}</h3>
      ${drawnChart({
        ...common,
        caption: t('webhooks.backlogCaption'),
        series: [{ label: t('webhooks.waiting'), values: values(({ backlog }) => backlog, 0), summary: 'highest' }],
      })}`,
    { lead: t('webhooks.activityLead', { zone }) },
  );
}
