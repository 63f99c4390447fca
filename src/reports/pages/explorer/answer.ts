import type { Publisher, Snapshot } from '../../../catalog/types.ts';
import { AppError, type ErrorDetail } from '../../../platform/errors.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { getOrInsert } from '../../../platform/lib/get-or-insert.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import { problem, wordProblem } from '../../../platform/problem.ts';
import { perLocale } from '../../../shell/format.ts';
import type { ConvertedTotal } from '../../converted.ts';
import {
  currenciesOf,
  type DimensionName,
  hasSeveralCurrencies,
  type MetricName,
  type Metrics,
  sumOf,
  withoutSessions,
} from '../../metrics.ts';
import { type Explored, missingSums } from '../../query/explore.ts';
import { canCompareHours } from '../../query/parts.ts';
import { maxDays, maxDaysByHour } from '../../query/request.ts';
import type { Compared, ExploreQuery, Group, GroupOrder, GroupSelection } from '../../query/types.ts';
import { singleCurrencyOf } from '../../service.ts';
import { viewValue } from '../../view.ts';
import { differenceOf, metricOf, sumsOfMetric } from './metrics.ts';
import { type Names, valueText } from './names.ts';
import { type Periods, periodsOf } from './periods.ts';
import { attributeOf, type ExplorerState, hasUsers } from './state.ts';
import { type Slot, slotsOf } from './time-slots.ts';

/** Table row for one value of a dimension, with its metrics for the selected range and the comparison period. */
export type AnswerRow = Compared & { value: string; text: string; also: readonly AlsoValue[] };

/** Value of an additional dimension in a row. */
type AlsoValue = { name: DimensionName; value: string; text: string };

export type ReportAnswer = {
  periods: Periods;
  total: Compared;
  /**
   * Total in the publisher's reporting currency, or null if an exchange rate is missing. Absent if the publisher has no
   * reporting currency.
   */
  converted?: ConvertedTotal | null | undefined;
  /** Rows in the selected order. For a page, only the rows that it shows. */
  rows: readonly AnswerRow[];
  /** Number of all rows. */
  rowCount: number;
  slots: readonly Slot[];
  /**
   * Whether the last days cannot be compared, because the selected range ends today with an incomplete day, while the
   * last day of the comparison period is complete.
   */
  isUneven: boolean;
};

/**
 * Reason why a report cannot be shown. `fix` is a similar explorer state for which the report can be shown, if there is
 * one.
 */
export type Problem = { text: string; fix: { text: string; state: ExplorerState } | null };

export type ReportQuestion = { state: ExplorerState; publisher: Publisher; names: Names; nowMs: number };

/**
 * Answers a report explorer query from rollups only.
 * @param extent `page` to read only the rows that the report page shows
 */
export async function answerOf(
  reports: { explore: (query: ExploreQuery, signal?: AbortSignal) => Promise<Explored> },
  question: ReportQuestion,
  signal: AbortSignal | undefined,
  extent: 'all' | 'page' = 'all',
): Promise<ReportAnswer | Problem> {
  const { state, publisher, nowMs } = question;
  try {
    const periods = periodsOf(state, publisher.timeZone, nowMs);
    const query = exploreQueryOf(question, periods);
    if ('text' in query) return query;
    const selection = extent === 'page' ? selectionOf(question, periods.before !== null) : null;
    const explored = await reports.explore({ ...query, ...(selection !== null && { selection }) }, signal);
    const slots = slotsOf(periods, explored, publisher.timeZone, nowMs);
    const rows = state.by === 'time' ? timeRows(slots) : await groupRows(question, explored);
    const isUneven = periods.beforeUntilMs !== null && !canCompareHours(query);
    const rowCount = explored.rowCount ?? rows.length;
    return { periods, total: explored.total, converted: explored.converted, rows, rowCount, slots, isUneven };
  } catch (err) {
    if (err instanceof AppError && err.status === 400) return problemOf(err, state);
    throw err;
  }
}

/**
 * Returns the currency of all amounts in an answer, or null if there are several. Without amounts, returns the currency
 * of the publisher's campaigns.
 */
export function currencyOfAnswer(
  answer: ReportAnswer | Problem,
  snapshot: Snapshot,
  publisherId: number,
): string | null {
  const sums = 'text' in answer ? [] : [answer.total.now, answer.total.before ?? answer.total.now];
  return singleCurrencyOf(
    sums.map((metrics) => ({ metrics })),
    snapshot,
    publisherId,
  );
}

/** Converts a report error to a problem: an invalid range, or too many values. */
function problemOf(err: AppError, state: ExplorerState): Problem {
  const [detail] = err.details ?? [];
  if (err.code === 'report_too_large')
    return {
      text: wordProblem(err.problem),
      fix: { text: t('reports.showLastWeek'), state: { ...state, range: '7d' } },
    };
  const isByHour = state.interval === 'hour';
  const fix = isByHour ? { text: t('reports.showByDay'), state: { ...state, interval: null } } : null;
  return {
    text: textOf(detail, isByHour),
    fix: fix ?? { text: t('reports.showLastWeek'), state: { ...state, range: '7d' } },
  };
}

function textOf(detail: ErrorDetail | undefined, isByHour: boolean): string {
  if (detail?.message.key === 'apiTexts.daysAtMost')
    return isByHour
      ? t('reports.tooManyDaysByHour', { days: maxDaysByHour })
      : t('reports.tooManyDays', { days: maxDays });
  const reason = wordProblem(detail?.message ?? problem('isInvalid'));
  return detail?.path === '/to' ? t('reports.lastDayError', { reason }) : t('reports.firstDayError', { reason });
}

/** Builds the query for an explorer state. Returns a problem if no rollups can answer it. */
export function exploreQueryOf({ state, publisher, names }: ReportQuestion, periods: Periods): ExploreQuery | Problem {
  const attributes = Object.keys(state.filters).filter((name) => attributeOf(name) !== null);
  const used = new Set([...attributes, ...(attributeOf(state.by) === null ? [] : [state.by])]);
  const [attribute] = used;
  const query: ExploreQuery = {
    publisherId: publisher.id,
    timeZone: publisher.timeZone,
    aggregatedBy: periods.interval,
    by: dimensionOf(state.by),
    also: state.also,
    metrics: [...new Set(state.metrics.flatMap((name) => sumsOfMetric[name] ?? [name as MetricName]))],
    days: periods.days,
    isRunning: periods.isRunning,
    convertTo: state.metrics.some((name) => metricOf(name).kind === 'money') ? publisher.reportingCurrency : null,
    before: periods.before,
    beforeUntilMs: periods.beforeUntilMs,
    filters: filtersOf(state, names),
    customKey: attribute === undefined ? null : attributeOf(attribute),
    customValues: attribute === undefined ? null : (state.filters[attribute] ?? null),
    hasUsers: hasUsers(state),
    ...(state.by === 'advertiser' && { uniteUsers: (campaign) => advertiserOf(names, campaign) }),
  };
  const missing = used.size > 1 ? 'attribute' : missingSums(query);
  if (missing === 'hours')
    return {
      text: t('reports.tooManyByHour'),
      fix: { text: t('reports.showByDay'), state: { ...state, interval: 'day' } },
    };
  if (missing === 'attribute')
    return {
      text: t('reports.attributeAlone'),
      fix: { text: t('reports.showAttributeAlone'), state: alone(state, attribute ?? state.by) },
    };
  return query;
}

function alone(state: ExplorerState, attribute: string): ExplorerState {
  const values = state.filters[attribute];
  return {
    ...state,
    by: values === undefined ? attribute : 'time',
    also: [],
    filters: values === undefined ? {} : { [attribute]: values },
  };
}

function dimensionOf(by: string): ExploreQuery['by'] {
  if (by === 'time') return null;
  if (attributeOf(by) !== null) return 'custom';
  return by === 'advertiser' ? 'campaign' : (by as DimensionName);
}

/** Replaces advertiser filters with campaign filters, because rollups do not contain advertisers. */
export function filtersOf({ filters }: ExplorerState, { campaignsOf }: Names): ExploreQuery['filters'] {
  const { advertiser, campaign, offer, ...others } = filters;
  const texts = Object.entries(others).filter(([name]) => attributeOf(name) === null);
  let ids = campaign?.map(Number);
  if (advertiser !== undefined) {
    const ofAdvertisers = advertiser.flatMap((id) => campaignsOf(Number(id)));
    ids = ids === undefined ? ofAdvertisers : ids.filter((id) => ofAdvertisers.includes(id));
  }
  return {
    ...Object.fromEntries(texts),
    ...(ids !== undefined && { campaign: ids }),
    ...(offer !== undefined && { offer: offer.map(Number) }),
  };
}

const timeRows = (slots: readonly Slot[]): AnswerRow[] =>
  slots
    .filter(({ now }) => now !== null)
    .map(({ value, text, now, before }) => ({ value, text, also: [], now: now as Metrics, before }));

/** Number of rows shown while the table is not expanded. */
export const fewRows = 50;

/** Maximum number of bars per currency. */
export const maxBars = 12;

/**
 * Returns the selection of the groups that the report page shows: the first rows, the largest bars, and the largest
 * changes. Returns null if it shows all groups.
 */
function selectionOf({ state, names }: ReportQuestion, isCompared: boolean): GroupSelection | null {
  if (state.all || hasUsers(state)) return null;
  const metric = metricOf(state.metric);
  const rankOf = rankingOf(state);
  type Ranked<First extends Group> = { group: First; rank: number; figure: number };
  const inOrder = (a: Ranked<Group>, b: Ranked<Group>): number =>
    b.rank - a.rank || compareNames(namedOf(state, names, a.group), namedOf(state, names, b.group));
  const largest = <First extends Group>(ranked: readonly Ranked<First>[], count: number): Ranked<First>[] =>
    firstOf(ranked, count, (a, b) => b.figure - a.figure || inOrder(a, b));
  /** Returns the largest increase or decrease. `sign` is 1 or -1. */
  const largestChange = <First extends Group>(ranked: readonly Ranked<First>[], sign: number): Ranked<First>[] =>
    largest(
      ranked.flatMap(({ group, rank }) => {
        const figure = group.before === null ? 0 : sign * differenceOf(metric, group.now, group.before);
        return figure > 0 ? [{ group, rank, figure }] : [];
      }),
      1,
    );
  const bars: GroupOrder[] = state.view === 'bar' ? [{ by: 'value', direction: 'desc', count: maxBars }] : [];
  const changes: GroupOrder[] = isCompared
    ? [
        { by: 'change', direction: 'desc', count: 1, isOneWay: true },
        { by: 'change', direction: 'asc', count: 1, isOneWay: true },
      ]
    : [];
  return {
    metrics: sumsOfMetric[state.metric] ?? [state.metric as MetricName],
    orders: [orderOf(state, isCompared), ...bars, ...changes],
    ...(state.by === 'advertiser' && { advertisers: names.advertisers() }),
    select: (groups) => {
      const ranked = groups.map((group) => {
        const rank = rankOf(group.now, group.before);
        return { group, rank, figure: state.view === 'bar' ? viewValue(metric.name, group.now) || 0 : 0 };
      });
      const selected = [
        ...firstOf(ranked, fewRows, inOrder),
        ...(state.view === 'bar' ? largest(ranked, maxBars) : []),
        ...largestChange(ranked, 1),
        ...largestChange(ranked, -1),
      ];
      return [...new Set(selected.map(({ group }) => group))];
    },
  };
}

/** Returns the order of the rows. The database returns all rows if they are sorted by name, because it has no names. */
function orderOf({ sort }: ExplorerState, isCompared: boolean): GroupOrder {
  const direction = sort === 'most' ? 'desc' : 'asc';
  if (sort === 'change' && isCompared) return { by: 'change', direction, count: fewRows };
  return { by: 'value', direction, count: sort === 'name' || sort === 'change' ? null : fewRows };
}

/** Returns the first elements of a list in an order. With thousands of elements, this is faster than sorting them. */
function firstOf<T>(list: readonly T[], count: number, compare: (a: T, b: T) => number): T[] {
  const first: T[] = [];
  for (const item of list) {
    let [low, high] = [0, first.length];
    if (high === count && compare(item, first[count - 1] as T) >= 0) continue;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(item, first[middle] as T) < 0) high = middle;
      else low = middle + 1;
    }
    first.splice(low, 0, item);
    if (first.length > count) first.pop();
  }
  return first;
}

type NamedRow = { value: string; text: string; also: readonly AlsoValue[] };

/** Returns the values of a group with their names. */
function namedOf(state: ExplorerState, names: Names, { value: id, also: ids }: Group): NamedRow {
  const value = String(id);
  const also = state.also.map((name, index) => {
    const alsoValue = String(ids[index]);
    return { name, value: alsoValue, text: valueText(names, name, alsoValue) };
  });
  return { value, text: valueText(names, state.by, value), also };
}

/** Compares rows by the names of their values. */
function compareNames(a: NamedRow, b: NamedRow): number {
  const collator = byName('');
  const others = [b, ...b.also];
  for (const [index, { value, text }] of [a, ...a.also].entries()) {
    const other = others[index] as (typeof others)[number];
    const order = collator.compare(text, other.text);
    if (order !== 0) return order;
    if (value !== other.value) return value < other.value ? -1 : 1;
  }
  return 0;
}

async function groupRows({ state, names }: ReportQuestion, { groups }: Explored): Promise<AnswerRow[]> {
  const ownGroups = state.by === 'advertiser' ? await byAdvertiser(groups, names) : groups;
  const rankOf = rankingOf(state);
  const groupOf = currencyGroupsOf(state, ownGroups);
  const rows = ownGroups.map((group) => {
    const { now, before } = group;
    const order = { group: groupOf(now, before), rank: rankOf(now, before) };
    return { ...namedOf(state, names, group), now, before, ...order };
  });
  return rows.sort((a, b) => a.group - b.group || b.rank - a.rank || compareNames(a, b));
}

/** Whether rows are grouped by currency. This is needed because amounts in different currencies are never compared. */
export const isByCurrency = ({ metric, sort }: ExplorerState, rows: readonly Compared[]): boolean =>
  metricOf(metric).kind === 'money' && sort !== 'name' && hasSeveralCurrencies(periodsIn(rows));

/**
 * Returns a function that computes the position of a row's currency group. Currencies are sorted by code, and rows with
 * several currencies follow. Rows without amounts come first when sorting by smallest value, and last otherwise.
 */
function currencyGroupsOf(
  state: ExplorerState,
  rows: readonly Compared[],
): (now: Metrics, before: Metrics | null) => number {
  if (!isByCurrency(state, rows)) return () => 0;
  const currencies = currenciesOf(periodsIn(rows));
  return (now, before) => {
    const own = currenciesOf(state.sort === 'change' ? [now, before] : [now]);
    if (own.length === 0) return state.sort === 'least' ? -1 : currencies.length + 1;
    return own.length > 1 ? currencies.length : currencies.indexOf(own[0] as string);
  };
}

/** Returns the metrics of all rows, in the selected range and in the comparison period. */
export const periodsIn = (rows: readonly Compared[]): (Metrics | null)[] => [
  ...rows.map(({ now }) => now),
  ...rows.map(({ before }) => before),
];

/** Returns the advertiser of a campaign, or 0 if the campaign was deleted. */
const advertiserOf = ({ campaign }: Names, id: string | number): number => campaign(Number(id))?.advertiserId ?? 0;

/**
 * Merges groups by advertiser. The advertiser ID is 0 for deleted campaigns. A session is counted once for each
 * campaign that it shows.
 */
async function byAdvertiser(groups: readonly Group[], names: Names): Promise<Group[]> {
  const lists = new Map<number, Group[]>();
  for (const group of groups) getOrInsert(lists, advertiserOf(names, group.value), () => []).push(group);
  const pace = createPacer();
  const united: Group[] = [];
  for (const [value, list] of lists) {
    united.push(uniteGroups(value, list));
    await pace();
  }
  return united;
}

/** Adds up the campaigns of an advertiser. */
function uniteGroups(value: number, [first, ...others]: readonly Group[]): Group {
  const { now, before } = first as Group;
  if (others.length === 0) return { value, also: [], now, before };
  // Users are already counted by advertiser: each campaign has the users of all campaigns of its advertiser.
  const sum = (first: Metrics, list: readonly Metrics[]): Metrics => ({
    ...withoutSessions(sumOf([first, ...list].map((metrics) => ({ metrics })))),
    ...(first.users !== undefined && { users: first.users }),
  });
  const [nows, befores] = [others.map((other) => other.now), others.flatMap((other) => other.before ?? [])];
  return { value, also: [], now: sum(now, nows), before: before && sum(before, befores) };
}

/** Compares names. With thousands of names, this is ten times as fast as `localeCompare`. */
const byName = perLocale((locale) => new Intl.Collator(locale));

/**
 * Returns a function that ranks rows: by largest value, by largest decrease, or by name. Rows with equal values are
 * sorted by name. Unknown values come last.
 */
function rankingOf({ metric: name, sort }: ExplorerState): (now: Metrics, before: Metrics | null) => number {
  const metric = metricOf(name);
  const orLowest = (rank: number): number => (Number.isNaN(rank) ? Number.NEGATIVE_INFINITY : rank);
  if (sort === 'most') return (now) => orLowest(viewValue(metric.name, now));
  if (sort === 'least') return (now) => orLowest(-viewValue(metric.name, now));
  if (sort === 'change') return (now, before) => (before === null ? 0 : orLowest(-differenceOf(metric, now, before)));
  return () => 0;
}
