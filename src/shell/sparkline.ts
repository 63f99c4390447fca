import { type Html, html } from '../platform/http/html.ts';

/** Size of a sparkline in its own units. */
const [sparkWidth, sparkHeight] = [56, 22];

/** A small line without axes, drawn by the server; its figures stand beside it. */
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
