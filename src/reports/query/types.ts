import type { DayRange } from '../../platform/http/day-range.ts';
import type { DimensionName, MetricName, Metrics } from '../metrics.ts';

export type Aggregation = 'hour' | 'day' | 'week' | 'month';

/** Query for the activity of one publisher. */
export type ActivityQuery = {
  publisherId: number;
  /** First and last day in the query's time zone, such as `2026-11-21`. */
  from: string;
  to: string;
  aggregatedBy: Aggregation;
  /** Dimensions to group by. `custom` stands for the custom attribute in `customKey`. */
  groupBy: readonly (DimensionName | 'custom')[];
  /** Values to include, by dimension. Campaigns and offers are identified by ID. */
  filters: Partial<Record<DimensionName, readonly (string | number)[]>>;
  customKey: string | null;
  customValues: readonly string[] | null;
  /** Additional custom attributes with the values to include. These filters require raw rows. */
  otherCustom?: readonly { key: string; values: readonly string[] }[];
  /** IANA time zone. An unknown time zone is treated as UTC. */
  timeZone: string;
  /**
   * Size of the smallest stored buckets that fit the time zone. Can be `none` only if the time zone is not the
   * publisher's.
   */
  buckets: 'day' | 'hour' | 'none';
};

/** Metrics for one time bucket and one value of each group dimension. */
export type ActivityRow = {
  /**
   * Day such as `2026-11-21`, or the first day of the week or month. Hours have an offset, such as
   * `2026-11-21T13:00:00+05:45`, because one local hour occurs twice on a 25-hour day.
   */
  time: string;
  startMs: number;
  /** Group values in the order of `groupBy`. */
  group: readonly (string | number)[];
  metrics: Metrics;
};

/**
 * Report request. `names` contains the names of the group columns, as spelled in the request, unless another column
 * already has that name.
 */
export type ReportRequest = {
  query: ActivityQuery;
  names: readonly string[];
  /** Whether the report also counts unique users. */
  hasUsers: boolean;
};

/** Query of the report explorer for a range of days and an optional comparison period. */
export type ExploreQuery = Pick<
  ActivityQuery,
  'publisherId' | 'aggregatedBy' | 'filters' | 'customKey' | 'customValues' | 'timeZone'
> & {
  /** Dimension to group by, or null for totals only. */
  by: DimensionName | 'custom' | null;
  /** Additional dimensions to group by. Each group is then a combination of values. */
  also: readonly DimensionName[];
  /** Metrics to add up. All others are 0. Adding up one metric costs as much as reading the rows. */
  metrics: readonly MetricName[];
  days: DayRange;
  /** Whether the range ends with the present day, so that there is no later activity. */
  isRunning?: boolean;
  before: DayRange | null;
  /** Currency to convert the total to. If it is null or absent, no converted total is computed. */
  convertTo?: string | null;
  /**
   * Time at which to cut off the last day of `before`, in epoch milliseconds. Only hours that begin earlier are
   * counted. Null means that all hours are counted.
   */
  beforeUntilMs: number | null;
  /** Selects the groups to return. Only these are read with all metrics, because there can be thousands of groups. */
  selection?: GroupSelection;
  /** Whether to count unique users. They are counted only if sketches can answer the query. */
  hasUsers?: boolean;
  /** Returns the group in which to count the users of a value of `by`, such as the advertiser of a campaign. */
  uniteUsers?: (value: string | number) => string | number;
};

/** Selection of the groups with the most extreme values of a metric. */
export type GroupSelection = {
  /** Sums that the metric is calculated from: its own, or those of the part and the whole that it is the rate of. */
  metrics: readonly MetricName[];
  /** Orders of which the first groups are selected, together with groups whose values equal that of the last one. */
  orders: readonly GroupOrder[];
  /** Advertiser of each campaign, to select advertisers instead of campaigns. Other campaigns have the advertiser 0. */
  advertisers?: { campaignIds: readonly number[]; advertiserIds: readonly number[] };
  /** Selects from the first groups of all orders. In its argument, all other metrics are 0. */
  select: <First extends Group>(groups: readonly First[]) => readonly First[];
};

/** Order of groups by a metric or by its change. Groups with an unknown value come last. */
export type GroupOrder = {
  by: 'value' | 'change';
  direction: 'asc' | 'desc';
  /** Number of groups to select, or null for all groups. */
  count: number | null;
  /** Whether to select only groups whose change is positive, or negative in ascending order. */
  isOneWay?: true;
};

/** Metrics of the selected range and of the comparison period. `before` is null without a comparison. */
export type Compared = { now: Metrics; before: Metrics | null };

/** Metrics of one group. `also` contains its values for the query's additional dimensions, in the same order. */
export type Group = Compared & { value: string | number; also: readonly (string | number)[] };
