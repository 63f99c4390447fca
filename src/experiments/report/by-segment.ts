import type { Executor } from '../../platform/db/pool.ts';
import type { Estimate } from '../statistics/compare.ts';
import { ratioOf } from '../statistics/moments.ts';
import { revenueLifts } from './over-time.ts';
import { armSums, type Population, readRows, type Segment } from './sums.ts';

/** Revenue per 1,000 sessions, broken down by a user property. The property is taken from the user's first session. */
export type SegmentsReport = {
  by: Segment;
  /**
   * Number of confidence intervals that jointly have 95% coverage. Each interval becomes wider as this number grows.
   */
  comparisons: number;
  values: { value: string; arms: { arm: string; users: number; value: number; lift: Estimate | null }[] }[];
};

type SegmentsQuery = {
  experimentId: number;
  version: number;
  segment: Segment;
  population: Population;
  /** Arm names, control first. */
  names: readonly string[];
  alpha: number;
};

/** Maximum number of segment values to compare. The values with the most users are selected. */
const maxValues = 12;

export async function readSegments(executor: Executor, query: SegmentsQuery): Promise<SegmentsReport> {
  const { segment, population, names, alpha } = query;
  const rows = await readRows(executor, query);
  const values = [...new Set(rows.map(({ value }) => value))]
    .map((value) => ({
      value,
      sums: armSums(
        rows.filter((row) => row.value === value),
        population,
      ),
    }))
    .map((segment) => ({ ...segment, users: segment.sums.reduce((sum, { users }) => sum + users, 0) }))
    .sort((a, b) => b.users - a.users)
    .slice(0, maxValues);
  const comparisons = values.length * (names.length - 1);
  return {
    by: segment,
    comparisons,
    values: values.map(({ value, sums }) => {
      const lifts = revenueLifts(names, sums, alpha / Math.max(1, comparisons));
      return {
        value,
        arms: names.map((name) => {
          const own = sums.find(({ arm }) => arm === name);
          const revenue = own === undefined ? 0 : ratioOf(own.metrics.revenue) * 1000;
          const lift = lifts.find(({ arm }) => arm === name)?.lift ?? null;
          return { arm: name || outside, users: own?.users ?? 0, value: revenue, lift };
        }),
      };
    }),
  };
}

/** Arm name for the users outside the experiment if they serve as its control. */
export const outside = 'outside';
