import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, copyable, hiddenField, icon } from '../../../shell/components.ts';
import { createForm } from '../../../shell/forms.ts';
import { reportMetrics } from './metrics.ts';
import { dimensionText, type Names, valueText } from './names.ts';
import { type Periods, rangeText } from './periods.ts';
import { rangeName, rangeNames } from './ranges.ts';
import { type ExplorerState, queryOf, withoutFilter } from './state.ts';

/** Returns the URL of the page with a given state. */
export type HrefOf = (state: ExplorerState) => string;

/** Renders a button that opens a menu. It also works without scripts. */
export const dropdown = (id: string, text: Html | string, body: Html): Html => html`
  <details class="dropdown" id="${id}">
    <summary class="button small">${text}${icon('chevron')}</summary>
    <div class="dropdown-body">${body}</div>
  </details>`;

type Entry = { text: string; href: string; current: boolean };

const entry = ({ text, href, current }: Entry): Html =>
  html`<li><a href="${href}"${current && html` aria-current="true"`}>${text}</a></li>`;
export const entries = (list: readonly Entry[]): Html => html`<ul>${list.map(entry)}</ul>`;

/** Renders the rest of the state as hidden fields, for a form that changes only a part of it. */
function hiddenState(state: ExplorerState, without: readonly string[]): Html[] {
  const query = [...new URLSearchParams(queryOf(state))];
  return query.filter(([name]) => !without.includes(name)).map(([name, value]) => hiddenField(name, value));
}

/** Renders the menus for range, comparison, interval and metrics. `periods` is null if the range is invalid. */
export const toolbar = (state: ExplorerState, periods: Periods | null, href: HrefOf, action: string): Html => html`
  ${rangeMenu(state, periods, href, action)}
  ${comparisonMenu(state, periods, href)}
  ${intervalMenu(state, periods, href)}
  ${metricsMenu(state, action)}`;

function rangeMenu(state: ExplorerState, periods: Periods | null, href: HrefOf, action: string): Html {
  const { from, to } = periods?.days ?? state;
  const form = createForm({ from, to });
  const text =
    state.range !== null ? rangeName(state.range) : periods === null ? t('reports.range') : rangeText(periods.days);
  const ranges = rangeNames.map((range) => ({
    text: rangeName(range),
    href: href({ ...state, range, interval: null }),
    current: state.range === range,
  }));
  return dropdown(
    'range',
    text,
    html`
      ${entries(ranges)}
      <form method="get" action="${action}">
        ${hiddenState(state, ['range', 'from', 'to', 'interval'])}
        ${form.input('from', { label: t('reports.firstDay'), type: 'date', required: true })}
        ${form.input('to', { label: t('reports.lastDay'), type: 'date', required: true })}
        <button class="button small main">${t('reports.show')}</button>
      </form>`,
  );
}

/**
 * Returns which comparison the option `week` means for a range: the previous week for up to seven days, or the same
 * weekdays for longer ranges. Other options are returned unchanged.
 */
export const comparisonOf = <C extends ExplorerState['compare']>(compare: C, periods: Periods | null) =>
  compare === 'week' && periods !== null && periods.length > 7 ? ('weekdays' as const) : compare;

function comparisonMenu(state: ExplorerState, periods: Periods | null, href: HrefOf): Html {
  const list = (['previous', 'week', 'none'] as const).map((compare) => ({
    text: t(`reports.compare_${comparisonOf(compare, periods)}`),
    href: href({ ...state, compare }),
    current: state.compare === compare,
  }));
  return dropdown('comparison', t(`reports.versus_${comparisonOf(state.compare, periods)}`), entries(list));
}

function intervalMenu(state: ExplorerState, periods: Periods | null, href: HrefOf): Html {
  const current = periods?.interval ?? state.interval ?? 'day';
  const list = (['day', 'hour'] as const).map((interval) => ({
    text: t(`reports.by_${interval}`),
    href: href({ ...state, interval }),
    current: current === interval,
  }));
  return dropdown('interval', t(`reports.by_${current}`), entries(list));
}

const metricsMenu = (state: ExplorerState, action: string): Html =>
  dropdown(
    'metrics',
    t('reports.metrics'),
    html`
      <form method="get" action="${action}">
        ${hiddenState(state, ['metrics'])}
        ${createForm({ metrics: state.metrics }).checkboxes('metrics', {
          label: t('reports.metrics'),
          choices: reportMetrics.map(({ name, text }) => ({ value: name, text })),
        })}
        <button class="button small main">${t('reports.show')}</button>
      </form>`,
  );

/** Renders a link with fixed dates, so that the report stays the same on later days. */
export const shareMenu = (url: string): Html =>
  dropdown(
    'share',
    t('reports.share'),
    html`
      <p class="hint">${t('reports.shareLead')}</p>
      ${copyable(url, t('reports.link'))}`,
  );

/** Renders the active filters, each with a link that removes it. */
export function filterChips(state: ExplorerState, names: Names, href: HrefOf): Html {
  const all = Object.entries(state.filters).flatMap(([name, values]) => values.map((value) => [name, value] as const));
  if (all.length === 0) return nothing;
  const chip = ([name, value]: readonly [string, string]) => {
    const text = valueText(names, name, value);
    const label = `${dimensionText(name)}: ${text}`;
    return html`
      <li>
        ${badge(label, 'info')}
        <a href="${href(withoutFilter(state, name, value))}" aria-label="${t('reports.removeFilter', { label })}">×</a>
      </li>`;
  };
  return html`
    <ul class="chips" aria-label="${t('reports.filters')}">
      ${all.map(chip)}
      ${all.length > 1 && html`<li><a href="${href({ ...state, filters: {} })}">${t('reports.removeAll')}</a></li>`}
    </ul>`;
}
