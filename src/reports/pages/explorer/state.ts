import { type DimensionName, dimensionNames } from '../../metrics.ts';
import { filterValue, isDimension } from '../../query/request.ts';
import { defaultMetrics, reportMetrics, userMetrics } from './metrics.ts';
import { isRange, type RangeName } from './ranges.ts';

/** Prefix that marks custom attributes in groups and filters. */
const attributePrefix = 'custom.';

/** Dimensions to group and filter by, except custom attributes. An advertiser is replaced with its campaigns. */
export const explorerDimensions = ['placement', 'advertiser', 'campaign', 'offer', 'country', 'device', 'os'] as const;
export type ExplorerDimension = (typeof explorerDimensions)[number];

export const views = ['line', 'bar', 'table'] as const;
export const sorts = ['most', 'least', 'change', 'name'] as const;
const comparisons = ['previous', 'week', 'none'] as const;

/** State of the report explorer page. All of it is in the URL. */
export type ExplorerState = {
  /** Relative date range, or null if `from` and `to` are used. */
  range: RangeName | null;
  from: string;
  to: string;
  compare: (typeof comparisons)[number];
  /** Length of the chart intervals. Null means hours for up to two days, and days for longer ranges. */
  interval: 'day' | 'hour' | null;
  /** Grouping of the rows: `time`, a dimension, or a custom attribute as `custom.KEY`. */
  by: string;
  /** Additional dimensions in the table. Each row is then a combination of values. */
  also: readonly DimensionName[];
  /** Values to include, by dimension or custom attribute. */
  filters: Readonly<Record<string, readonly string[]>>;
  /** Selected metrics in column order. */
  metrics: readonly string[];
  /** Metric that is shown in the chart and that rows are sorted by. */
  metric: string;
  sort: (typeof sorts)[number];
  view: (typeof views)[number];
  /** Whether all rows are shown rather than only the first ones. */
  all: boolean;
};

const maxValues = 50;
const maxLength = 256;
const keyPattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** Returns the custom attribute of a group or filter, or null if it is a dimension. */
export const attributeOf = (name: string): string | null => {
  const key = name.slice(attributePrefix.length);
  return name.startsWith(attributePrefix) && keyPattern.test(key) ? key : null;
};

const isExplorerDimension = (name: string): name is ExplorerDimension =>
  explorerDimensions.some((dimension) => dimension === name);
const isFilter = (name: string): boolean => isExplorerDimension(name) || attributeOf(name) !== null;

/** Maximum number of additional dimensions in a table. */
export const maxAlso = 2;

/**
 * Whether a dimension can be combined with others. Times, custom attributes and dimensions derived from campaigns
 * cannot be combined.
 */
export const canCombine = (by: string): boolean => dimensionNames.some((name) => name === by);

/** Parses URL query parameters. Invalid values are ignored, so that old links keep working. */
export function readState(query: Record<string, unknown>): ExplorerState {
  const text = (name: string): string => (typeof query[name] === 'string' ? query[name] : '');
  const oneOf = <T extends string>(name: string, options: readonly T[], otherwise: T): T =>
    options.find((option) => option === text(name)) ?? otherwise;
  const range = text('range');
  const isCustom = text('from') !== '' && text('to') !== '';
  const requested = listOf(query.metrics).flatMap((list) => list.split(','));
  const allMetrics = reportMetrics.map(({ name }) => name);
  const selected = allMetrics.filter((name) => requested.includes(name));
  const metrics = selected.length === 0 ? defaultMetrics : selected;
  const by = isFilter(text('by')) || text('by') === 'time' ? text('by') : 'placement';
  return {
    range: isCustom ? null : isRange(range) ? range : '7d',
    from: isCustom ? text('from') : '',
    to: isCustom ? text('to') : '',
    compare: oneOf('compare', comparisons, 'previous'),
    interval: text('interval') === 'hour' ? 'hour' : text('interval') === 'day' ? 'day' : null,
    by,
    also: canCombine(by)
      ? dimensionNames.filter((name) => name !== by && listOf(query.also).includes(name)).slice(0, maxAlso)
      : [],
    filters: readFilters(query),
    metrics,
    metric: oneOf('metric', metrics, metrics.includes('revenue') ? 'revenue' : (metrics[0] as string)),
    sort: oneOf('sort', sorts, 'most'),
    view: oneOf('view', views, 'line'),
    all: text('rows') === 'all',
  };
}

/** Parses the query string of a URL. Repeated parameters become lists. */
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
  (Array.isArray(value) ? value : [value]).filter((item): item is string => typeof item === 'string' && item !== '');

function readFilters(query: Record<string, unknown>): Record<string, readonly string[]> {
  const filters: Record<string, readonly string[]> = {};
  for (const name of Object.keys(query).filter(isFilter)) {
    const values = [...new Set(listOf(query[name]))]
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

/** Whether a state shows unique users. */
export const hasUsers = ({ metrics }: ExplorerState): boolean => metrics.some((name) => userMetrics.includes(name));

/** Serialises a state to a query string. Values that equal the default are omitted, and the order is fixed. */
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

/** For each dimension, the dimension to group by after drilling down. */
const next: Readonly<Record<string, string>> = {
  placement: 'campaign',
  advertiser: 'campaign',
  campaign: 'offer',
  offer: 'placement',
  country: 'placement',
  device: 'os',
  os: 'placement',
};

/**
 * Returns the state after a click on a row: the value becomes a filter, and the rows are grouped by the next dimension
 * without a filter.
 */
export function drillDown(state: ExplorerState, value: string): ExplorerState {
  const filters = { ...state.filters, [state.by]: [value] };
  if (attributeOf(state.by) !== null) return { ...state, by: 'time', filters, all: false };
  const isOpen = (name: string): boolean => filters[name] === undefined;
  const [first, ...also] = state.also;
  const by = first ?? [next[state.by] ?? 'time', ...dimensionNames].find(isOpen) ?? 'time';
  return { ...state, by, also, filters, all: false };
}

/** Returns the state with one filter value removed. */
export function withoutFilter(state: ExplorerState, name: string, value: string): ExplorerState {
  const values = (state.filters[name] ?? []).filter((item) => item !== value);
  const { [name]: _, ...others } = state.filters;
  return { ...state, filters: values.length === 0 ? others : { ...others, [name]: values } };
}
