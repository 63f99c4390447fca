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
  /** Values to include, by dimension. Campaigns and offers are given as ids. */
  filters: Partial<Record<DimensionName, readonly (string | number)[]>>;
  customKey: string | null;
  customValues: readonly string[] | null;
  /** Additional custom attributes with the values to include. These filters require raw rows. */
  otherCustom?: readonly { key: string; values: readonly string[] }[];
  /** IANA time zone. A name that the server does not know is treated as UTC. */
  timeZone: string;
  /**
   * Length of the shortest stored buckets that fit the time zone. `none` is possible if the time zone is not the
   * publisher's.
   */
  buckets: 'day' | 'hour' | 'none';
};

/** Metrics of one day or hour for one value of each group dimension. */
export type ActivityRow = {
  /**
   * Day such as `2026-11-21`, or the first day of a week or month. For hours, `2026-11-21T13:00:00+05:45`, because a
   * day of 25 hours contains one local hour twice.
   */
  time: string;
  startMs: number;
  /** Group values in the order of `groupBy`. */
  group: readonly (string | number)[];
  metrics: Metrics;
};

/**
 * Report request. `names` are the names of the group columns. They are spelled as requested, unless another column has
 * the same name.
 */
export type ReportRequest = { query: ActivityQuery; names: readonly string[] };
