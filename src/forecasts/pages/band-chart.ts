import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { table } from '../../shell/components.ts';
import { count, dayForm, percent, perLocale } from '../../shell/format.ts';
import { moreFields } from '../../shell/forms.ts';
import { type ComparedForecast, isInside } from '../record.ts';
import type { ForecastView } from '../view.ts';

type Interval = ForecastView['totals']['users'];

type BandChart = {
  caption: string;
  /** Days as ISO dates, with the interval of each. */
  days: readonly (Interval & { date: string })[];
  format: (value: number) => string;
  /** Smallest distance between two lines of the value axis. */
  leastStep: number;
};

/** Height of the plot, and of the space above and below it for labels, in pixels. */
const [plotHeight, above, below] = [140, 10, 22];

/** Width of a digit of the value axis, in pixels. */
const characterWidth = 7;

/** Days between two labels of the time axis. */
const labelDays = 10;

const axisDays = perLocale(
  (locale) => new Intl.DateTimeFormat(locale, { day: dayForm.day, month: dayForm.month, timeZone: 'UTC' }),
);

/**
 * Renders the expected values by day with their interval as an SVG, followed by a table with the same figures. The
 * chart is drawn by the server, so that it also works in parts of a page that are loaded later.
 */
export function bandChart({ caption, days, format, leastStep }: BandChart): Html {
  const steps = axisSteps(Math.max(...days.map(({ high }) => high), 0), leastStep);
  const top = steps.at(-1) as number;
  const xOf = (index: number): number => (100 * index) / Math.max(1, days.length - 1);
  const yOf = (value: number): number => 100 - (100 * value) / top;
  const points = (values: readonly [index: number, value: number][]): string =>
    values.map(([index, value]) => `${xOf(index).toFixed(2)},${yOf(value).toFixed(2)}`).join(' ');
  const lows = days.map(({ low }, index) => [index, low] as [number, number]);
  const mids = days.map(({ mid }, index) => [index, mid] as [number, number]);
  const highs = days.map(({ high }, index) => [index, high] as [number, number]);
  const lineY = (value: number): number => Math.round(above + (plotHeight * yOf(value)) / 100);
  const height = above + plotHeight + below;
  const values = steps.map(format);
  const axisWidth = characterWidth * Math.max(...values.map((value) => value.length)) + 8;
  const labels = days.flatMap(({ date }, index) => (index % labelDays === 0 ? [{ date, x: xOf(index) }] : []));
  return html`
    <figure class="band">
      <figcaption>
        <strong>${caption}</strong>
        <span class="band-mid">${t('forecasts.mid')}</span> <span class="band-range">${t('forecasts.interval')}</span>
      </figcaption>
      <div class="band-plot" role="img" aria-label="${t('layout.chartLabel', { caption })}">
        <svg width="${axisWidth}" height="${height}">
          ${steps.map(
            (step, index) =>
              html`<text x="${axisWidth - 8}" y="${lineY(step) + 4}" text-anchor="end">${values[index]}</text>`,
          )}
        </svg>
        <svg width="100%" height="${height}">
          ${steps.map((step) => html`<line x1="0" x2="100%" y1="${lineY(step)}" y2="${lineY(step)}"/>`)}
          <svg y="${above}" width="100%" height="${plotHeight}" viewBox="0 0 100 100" preserveAspectRatio="none">
            <polygon points="${points([...highs, ...lows.reverse()])}"/>
            <polyline points="${points(mids)}" vector-effect="non-scaling-stroke"/>
          </svg>
          ${labels.map(
            ({ date, x }) => html`
              <text x="${x.toFixed(2)}%" y="${above + plotHeight + 16}" text-anchor="${anchorAt(x)}">
                ${axisDays('').format(Date.parse(date))}
              </text>`,
          )}
        </svg>
      </div>
    </figure>
    ${moreFields(
      t('layout.showAsTable'),
      table(
        caption,
        [
          { text: t('layout.day') },
          { text: t('forecasts.mid'), numeric: true },
          { text: t('forecasts.low'), numeric: true },
          { text: t('forecasts.high'), numeric: true },
        ],
        days.map(({ date, low, mid, high }) => [date, format(mid), format(low), format(high)]),
      ),
    )}`;
}

/** Largest ratio of actual to forecast impressions in the chart of past forecasts. Higher ones are drawn at the top. */
const maxRatio = 2;

/** Share of the chart's width that the labels of the value axis take, in percent. */
const labelWidth = 12;

/** Maximum number of labels on the time axis of past forecasts. */
const maxLabels = 4;

/**
 * Renders past forecasts, oldest first, with the actual impressions. All values are relative to the expected one, so
 * that small and large campaigns can be compared. A table with the figures follows.
 */
export function recordChart(
  forecasts: readonly ComparedForecast[],
  nameOf: (campaignId: number) => Html | string,
): Html {
  const caption = t('forecasts.recordCaption');
  const ratio = (value: number, mid: number): number => Math.min(maxRatio, value / Math.max(1, mid));
  const ordered = forecasts.toReversed();
  const steps = axisSteps(Math.max(...ordered.map(({ mid, high, actual }) => ratio(Math.max(high, actual), mid))), 0.5);
  const top = steps.at(-1) as number;
  const xOf = (index: number): string =>
    `${(labelWidth + ((100 - labelWidth) * (index + 0.5)) / ordered.length).toFixed(2)}%`;
  const yOf = (value: number): string => (above + plotHeight * (1 - value / top)).toFixed(1);
  const labelEvery = Math.ceil(ordered.length / maxLabels);
  const isLabelled = (index: number): boolean => (ordered.length - 1 - index) % labelEvery === 0;
  return html`
    <figure class="band">
      <figcaption>
        <strong>${caption}</strong>
        <span class="band-range">${t('forecasts.interval')}</span>
        <span class="band-dot">${t('forecasts.actual')}</span>
      </figcaption>
      <svg width="100%" height="${above + plotHeight + below}" role="img"
        aria-label="${t('layout.chartLabel', { caption })}">
        ${steps.map((step) => html`<line x1="0" x2="100%" y1="${yOf(step)}" y2="${yOf(step)}"/>`)}
        ${ordered.map(({ low, mid, high, actual }, index) => {
          const [x, inside] = [xOf(index), isInside({ low, mid, high }, actual)];
          return html`
            <line class="range" x1="${x}" x2="${x}" y1="${yOf(ratio(low, mid))}" y2="${yOf(ratio(high, mid))}"/>
            <circle${!inside && html` class="outside"`} cx="${x}" cy="${yOf(ratio(actual, mid))}" r="4"/>`;
        })}
        ${steps.map((step) => html`<text x="0" y="${Number(yOf(step)) - 4}">${percent(step)}</text>`)}
        ${ordered.flatMap(({ endMs }, index) =>
          isLabelled(index)
            ? html`
              <text x="${xOf(index)}" y="${above + plotHeight + 16}" text-anchor="middle">
                ${axisDays('').format(endMs)}
              </text>`
            : [],
        )}
      </svg>
    </figure>
    ${moreFields(
      t('layout.showAsTable'),
      table(
        caption,
        [
          { text: t('forecasts.campaign') },
          { text: t('forecasts.endedOn') },
          { text: t('forecasts.mid'), numeric: true },
          { text: t('forecasts.interval'), numeric: true },
          { text: t('forecasts.actual'), numeric: true },
        ],
        forecasts.map(({ campaignId, endMs, low, mid, high, actual }) => [
          nameOf(campaignId),
          axisDays('').format(endMs),
          count(mid),
          t('forecasts.range', { low: count(low), high: count(high) }),
          count(actual),
        ]),
      ),
    )}`;
}

const anchorAt = (x: number): string => (x === 0 ? 'start' : x > 90 ? 'end' : 'middle');

/** Returns the values of the horizontal lines: 0 and up to four multiples of 1, 2 or 5 times a power of ten. */
function axisSteps(most: number, leastStep: number): number[] {
  if (most <= 0) return [0, leastStep];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(leastStep, ([1, 2, 5, 10].find((factor) => factor * power >= rough) as number) * power);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
}
