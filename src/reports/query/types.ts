import type { DimensionName, Metrics } from '../metrics.ts';

export type Aggregation = 'hour' | 'day' | 'week' | 'month';

/** A query for one publisher's activity. */
export type ActivityQuery = {
  publisherId: number;
  /** First and last day, such as `2026-11-21`, in the time zone. */
  from: string;
  to: string;
  aggregatedBy: Aggregation;
  /** `custom` stands for the custom attribute named by `customKey`. */
  groupBy: readonly (DimensionName | 'custom')[];
  /** Values to include, by dimension; ids for campaigns and offers. */
  filters: Partial<Record<DimensionName, readonly (string | number)[]>>;
  customKey: string | null;
  customValues: readonly string[] | null;
  /** Values to include of further custom attributes, which are read from raw rows. */
  otherCustom?: readonly { key: string; values: readonly string[] }[];
  /** IANA name; a name that the server does not know counts as UTC. */
  timeZone: string;
  /** Shortest stored buckets that fit the time zone. Those of a zone other than the publisher's may not fit. */
  buckets: 'day' | 'hour' | 'none';
};

/** Sums of one day or hour and of one value of each group dimension. */
export type ActivityRow = {
  /**
   * `2026-11-21`, also for the first day of a week or month; for hours `2026-11-21T13:00:00+05:45`: a day of 25 hours
   * has two of the same local time.
   */
  time: string;
  startMs: number;
  /** Values in the order of `groupBy`. */
  group: readonly (string | number)[];
  metrics: Metrics;
};

/**
 * A requested report. `names` are the columns of the groups, spelled as requested unless another column has the name.
 */
export type ReportRequest = { query: ActivityQuery; names: readonly string[] };
