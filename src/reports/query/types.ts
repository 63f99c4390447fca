import type { DimensionName, Metrics } from '../metrics.ts';

export type Aggregation = 'hour' | 'day' | 'week' | 'month';

/** A query for one publisher's activity. */
export type ActivityQuery = {
  publisherId: number;
  /** First and last day, `2026-11-21`, of the time zone. */
  from: string;
  to: string;
  aggregatedBy: Aggregation;
  /** `custom` stands for the custom attribute named by `customKey`. */
  groupBy: readonly (DimensionName | 'custom')[];
  /** Values that count, by dimension; ids for campaigns and offers. */
  filters: Partial<Record<DimensionName, readonly (string | number)[]>>;
  customKey: string | null;
  customValues: readonly string[] | null;
  /** Values that count of further custom attributes. They are read from raw rows. */
  otherCustom?: readonly { key: string; values: readonly string[] }[];
  /** IANA name; a name this server does not know counts as UTC. */
  timeZone: string;
  /** The shortest stored buckets that fit the time zone: those of another zone than the publisher's may not. */
  buckets: 'day' | 'hour' | 'none';
};

/** The sums of one day or hour and one value of each dimension grouped by. */
export type ActivityRow = {
  /**
   * `2026-11-21`, also for the first day of a week or month; for hours `2026-11-21T13:00:00+05:45`: a day of 25 hours
   * has two of the same local time.
   */
  time: string;
  startMs: number;
  /** In the order of `groupBy`. */
  group: readonly (string | number)[];
  metrics: Metrics;
};

/** A report as requested: `names` are the columns of the groups, as they were spelled unless another has the name. */
export type ReportRequest = { query: ActivityQuery; names: readonly string[] };
