import type { DimensionName, Metrics } from '../metrics.ts';

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
