import { type DimensionName, dimensionNames } from '../../metrics.ts';
import { filterValue, isDimension } from '../../query/request.ts';
import { defaultMetrics, reportMetrics } from './metrics.ts';
import { isRange, type RangeName } from './ranges.ts';

/** What a custom attribute is named by, in groups and filters. */
const attributePrefix = 'custom.';

/** What can be grouped and filtered by, beside custom attributes: an advertiser stands for its campaigns. */
export const explorerDimensions = ['placement', 'advertiser', 'campaign', 'offer', 'country', 'device', 'os'] as const;
export type ExplorerDimension = (typeof explorerDimensions)[number];

export const views = ['line', 'bar', 'table'] as const;
export const sorts = ['most', 'least', 'change', 'name'] as const;
const comparisons = ['previous', 'week', 'none'] as const;

/** The question a page of the explorer answers. Its URL holds all of it. */
export type ExplorerState = {
  /** Relative to today; null: `from` to `to`. */
  range: RangeName | null;
  from: string;
  to: string;
  compare: (typeof comparisons)[number];
  /** null: by hour for up to two days, else by day. */
  interval: 'day' | 'hour' | null;
  /** `time`, a dimension, or a custom attribute as `custom.KEY`. */
  by: string;
  /** Further dimensions of the table, each row of which is then a combination of their values. */
  also: readonly DimensionName[];
  /** Values by dimension, or custom attribute. */
  filters: Readonly<Record<string, readonly string[]>>;
  /** In the order of the columns. */
  metrics: readonly string[];
  /** The metric of the chart and the order of the table. */
  metric: string;
  sort: (typeof sorts)[number];
  view: (typeof views)[number];
  /** Whether all rows are shown. */
  all: boolean;
};

const maxValues = 50;
const maxLength = 256;
const keyPattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** The custom attribute of a group or filter; null: it is a dimension. */
export const attributeOf = (name: string): string | null => {
  const key = name.slice(attributePrefix.length);
  return name.startsWith(attributePrefix) && keyPattern.test(key) ? key : null;
};

const isExplorerDimension = (name: string): name is ExplorerDimension =>
  explorerDimensions.some((known) => known === name);
const isFilter = (name: string): boolean => isExplorerDimension(name) || attributeOf(name) !== null;

/** Dimensions of a table beside the first (count). */
export const maxAlso = 2;

/** Whether further dimensions may stand beside it: not beside times, attributes, and sums of campaigns. */
export const canCombine = (by: string): boolean => dimensionNames.some((name) => name === by);

/** Reads a URL. What is not understood counts as absent, so that no link is dead. */
export function readState(given: Record<string, unknown>): ExplorerState {
  const text = (name: string): string => (typeof given[name] === 'string' ? given[name] : '');
  const oneOf = <T extends string>(name: string, known: readonly T[], otherwise: T): T =>
    known.find((one) => one === text(name)) ?? otherwise;
  const range = text('range');
  const isCustom = text('from') !== '' && text('to') !== '';
  const asked = listOf(given.metrics).flatMap((list) => list.split(','));
  const known = reportMetrics.map(({ name }) => name);
  const chosen = known.filter((name) => asked.includes(name));
  const metrics = chosen.length === 0 ? defaultMetrics : chosen;
  const by = isFilter(text('by')) || text('by') === 'time' ? text('by') : 'placement';
  return {
    range: isCustom ? null : isRange(range) ? range : '7d',
    from: isCustom ? text('from') : '',
    to: isCustom ? text('to') : '',
    compare: oneOf('compare', comparisons, 'previous'),
    interval: text('interval') === 'hour' ? 'hour' : text('interval') === 'day' ? 'day' : null,
    by,
    also: canCombine(by)
      ? dimensionNames.filter((name) => name !== by && listOf(given.also).includes(name)).slice(0, maxAlso)
      : [],
    filters: readFilters(given),
    metrics,
    metric: oneOf('metric', metrics, metrics.includes('revenue') ? 'revenue' : (metrics[0] as string)),
    sort: oneOf('sort', sorts, 'most'),
    view: oneOf('view', views, 'line'),
    all: text('rows') === 'all',
  };
}

/** Reads the query of a URL, whose repeated parameters are lists. */
export function readQuery(query: string): ExplorerState {
  const params = new URLSearchParams(query);
  return readState(
    Object.fromEntries(
      [...new Set(params.keys())].map((name) => {
        const all = params.getAll(name);
        return [name, all.length === 1 ? all[0] : all];
      }),
    ),
  );
}

const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === 'string' && one !== '');

function readFilters(given: Record<string, unknown>): Record<string, readonly string[]> {
  const filters: Record<string, readonly string[]> = {};
  for (const name of Object.keys(given).filter(isFilter)) {
    const values = [...new Set(listOf(given[name]))]
      .slice(0, maxValues)
      .filter((value) => value.length <= maxLength && !value.includes('\0'))
      .flatMap((value) => normalised(name, value) ?? []);
    if (values.length > 0) filters[name] = values;
  }
  return filters;
}

function normalised(name: string, value: string): string | null {
  if (name === 'advertiser') return /^\d{1,9}$/.test(value) ? value : null;
  const read = isDimension(name) ? filterValue(name, value) : value;
  return read === null ? null : String(read);
}

/** The URL's query of a state: only what is not the default, always in the same order. */
export function queryOf(state: ExplorerState): string {
  const query = new URLSearchParams();
  if (state.range === null) {
    query.set('from', state.from);
    query.set('to', state.to);
  } else if (state.range !== '7d') query.set('range', state.range);
  if (state.compare !== 'previous') query.set('compare', state.compare);
  if (state.interval !== null) query.set('interval', state.interval);
  if (state.by !== 'placement') query.set('by', state.by);
  for (const name of state.also) query.append('also', name);
  for (const name of Object.keys(state.filters).sort())
    for (const value of state.filters[name] ?? []) query.append(name, value);
  if (state.metrics.join() !== defaultMetrics.join()) query.set('metrics', state.metrics.join());
  if (state.metric !== defaultMetric(state.metrics)) query.set('metric', state.metric);
  if (state.sort !== 'most') query.set('sort', state.sort);
  if (state.view !== 'line') query.set('view', state.view);
  if (state.all) query.set('rows', 'all');
  return query.size === 0 ? '' : `?${query}`;
}

const defaultMetric = (metrics: readonly string[]): string =>
  metrics.includes('revenue') ? 'revenue' : (metrics[0] as string);

/** What a row's values are listed by when it is opened. */
const next: Readonly<Record<string, string>> = {
  placement: 'campaign',
  advertiser: 'campaign',
  campaign: 'offer',
  offer: 'placement',
  country: 'placement',
  device: 'os',
  os: 'placement',
};

/** The state after a click on a row: its value as a filter, and the next dimension that is not filtered by. */
export function drillDown(state: ExplorerState, value: string): ExplorerState {
  const filters = { ...state.filters, [state.by]: [value] };
  if (attributeOf(state.by) !== null) return { ...state, by: 'time', filters, all: false };
  const isOpen = (name: string): boolean => filters[name] === undefined;
  const [first, ...also] = state.also;
  const by = first ?? [next[state.by] ?? 'time', ...dimensionNames].find(isOpen) ?? 'time';
  return { ...state, by, also, filters, all: false };
}

/** Without one value of a filter. */
export function withoutFilter(state: ExplorerState, name: string, value: string): ExplorerState {
  const left = (state.filters[name] ?? []).filter((one) => one !== value);
  const { [name]: _, ...others } = state.filters;
  return { ...state, filters: left.length === 0 ? others : { ...others, [name]: left } };
}
