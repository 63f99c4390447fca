import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { table } from './components.ts';

/** Data of a chart; a null value is missing. */
export type ChartData = {
  caption: string;
  /** Heading of the first column of the table. */
  heading: string;
  /** Start of each day or hour (epoch ms); days in UTC. */
  times: readonly { text: string; atMs: number }[];
  /** A dashed series is what the first one is compared with. */
  series: readonly { label: string; values: readonly (number | null)[]; isDashed?: boolean }[];
  kind?: 'line' | 'bar';
  /** IANA zone of hours; absent for days. */
  zone?: string;
  /** Format of values: counts, shares, or amounts of a currency. */
  style?: 'count' | 'rate' | { currency: string | null };
  format?: (value: number) => string;
};

/** Chart that is drawn in the browser, with the same figures in a table below it. */
export function drawnChart({ caption, heading, times, series, format = String, ...options }: ChartData): Html {
  const { kind = 'line', zone = null, style = 'count' } = options;
  const data = [times.map(({ atMs }) => atMs / 1000), ...series.map(({ values }) => values)];
  const drawn = {
    data,
    names: series.map(({ label }) => label),
    dashed: series.map(({ isDashed }) => isDashed === true),
    kind,
    zone,
    style,
  };
  return html`
    <div class="chart" role="img" aria-label="${t('layout.chartLabel', { caption })}"
      data-chart="${JSON.stringify(drawn)}"></div>
    <details class="more">
      <summary>${t('layout.showAsTable')}</summary>
      ${table(
        caption,
        [{ text: heading }, ...series.map(({ label }) => ({ text: label, numeric: true }))],
        times.map(({ text }, index) => [
          text,
          ...series.map(({ values }) => {
            const value = values[index] ?? null;
            return value === null ? '–' : format(value);
          }),
        ]),
      )}
    </details>`;
}

/** Size of a sparkline in its own units. */
const [sparkWidth, sparkHeight] = [56, 22];

/** Small line without axes, drawn by the server, next to its figures. */
export function sparkline(values: readonly number[]): Html {
  const most = Math.max(...values, 0);
  const step = sparkWidth / Math.max(values.length - 1, 1);
  const yOf = (value: number): number => sparkHeight - 2 - (most === 0 ? 0 : (value / most) * (sparkHeight - 4));
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${yOf(value).toFixed(1)}`).join(' ');
  return html`
    <svg class="spark" viewBox="0 0 ${sparkWidth} ${sparkHeight}" width="${sparkWidth}" height="${sparkHeight}"
      aria-hidden="true">
      <polyline points="${points}" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round"/>
    </svg>`;
}
