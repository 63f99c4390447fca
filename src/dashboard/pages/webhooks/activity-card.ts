import { type Html, html } from '../../../platform/http/html.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { bucketMs, type readActivity } from '../../../webhooks/activity/activity.ts';
import { drawnChart } from '../../shell/chart.ts';
import { card } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { count } from '../../shell/format.ts';

type Row = Awaited<ReturnType<typeof readActivity>>[number];

/** Start of the charts (epoch ms): a day ago, to the quarter of an hour. */
export const activitySinceMs = (nowMs: number): number => Math.floor((nowMs - dayMs) / bucketMs + 1) * bucketMs;

/** Success, latency and backlog of an endpoint over the last 24 hours. */
export function activityCard({ publisher }: PublisherContext, rows: readonly Row[], nowMs: number): Html {
  if (rows.length === 0) return card('Last 24 hours', html`<p class="hint">No attempts in the last 24 hours.</p>`);
  const known = new Map(rows.map((row) => [row.atMs, row]));
  const zone = publisher.timeZone;
  const sinceMs = activitySinceMs(nowMs);
  const text = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: zone,
  });
  const times = Array.from({ length: dayMs / bucketMs }, (_, index) => {
    const atMs = sinceMs + index * bucketMs;
    return { atMs, text: text.format(atMs) };
  });
  const values = (read: (row: Row) => number | null, otherwise: number | null) =>
    times.map(({ atMs }) => {
      const row = known.get(atMs);
      return row === undefined ? otherwise : read(row);
    });
  const attempts = ({ delivered, failed }: Row): number => delivered + failed;
  const common = { heading: 'Time', times, zone, format: count };
  const ofCalls = (read: (row: Row) => number) =>
    values((row) => (attempts(row) === 0 ? null : Math.round(read(row))), null);
  return card(
    'Last 24 hours',
    html`
      <h3>Attempts</h3>
      ${drawnChart({
        ...common,
        caption: 'Attempts by quarter of an hour',
        series: [
          { label: 'Delivered', values: values(({ delivered }) => delivered, 0) },
          { label: 'Failed', values: values(({ failed }) => failed, 0) },
        ],
      })}
      <h3>Latency (ms)</h3>
      ${drawnChart({
        ...common,
        caption: 'Latency in milliseconds by quarter of an hour',
        series: [
          { label: 'Average', values: ofCalls((row) => row.totalMs / attempts(row)) },
          { label: 'Slowest', values: ofCalls(({ slowestMs }) => slowestMs) },
        ],
      })}
      <h3>Backlog</h3>
      ${drawnChart({
        ...common,
        caption: 'Waiting deliveries by quarter of an hour',
        series: [{ label: 'Waiting', values: values(({ backlog }) => backlog, 0) }],
      })}`,
    { lead: `Attempts that failed are retried; the backlog is the most that waited. Times in ${zone}.` },
  );
}
