import { type Html, html } from '../../platform/http/html.ts';
import type { MetricsView } from '../../reports/query/view.ts';
import { table } from './components.ts';

type ChartRow = { time: string; metrics: MetricsView };

export type ChartInput = {
  caption: string;
  rows: readonly ChartRow[];
  series: readonly { label: string; of: (metrics: MetricsView) => number | undefined }[];
};

/** A line chart by day, drawn in the browser, with the same figures as a table below it. */
export function chart({ caption, rows, series }: ChartInput): Html {
  const columns = series.map(({ of }) => rows.map(({ metrics }) => of(metrics) ?? 0));
  const data = [rows.map(({ time }) => Date.parse(`${time}T00:00:00Z`) / 1000), ...columns];
  const names = series.map(({ label }) => label);
  return html`
    <div class="chart" role="img" aria-label="${caption}; figures in the table below"
      data-chart="${JSON.stringify({ data, names })}"></div>
    <details class="more">
      <summary>Show as table</summary>
      ${table(
        caption,
        [{ text: 'Day' }, ...names.map((text) => ({ text, numeric: true }))],
        rows.map(({ time }, index) => [time, ...columns.map((column) => column[index] ?? 0)]),
      )}
    </details>`;
}
