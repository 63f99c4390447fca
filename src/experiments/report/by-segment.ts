import type { Executor } from '../../platform/db/pool.ts';
import type { Estimate } from '../statistics/compare.ts';
import { ratioOf } from '../statistics/moments.ts';
import { revenueLifts } from './over-time.ts';
import { armSums, type Population, readRows, type Segment } from './sums.ts';

/** Revenue of 1,000 sessions by a property of the users' first sessions. */
export type SegmentsReport = {
  by: Segment;
  /** Intervals that hold together with a probability of 95 %: each is wider for the others. */
  comparisons: number;
  values: { value: string; arms: { arm: string; users: number; value: number; lift: Estimate | null }[] }[];
};

type Asked = {
  experimentId: number;
  version: number;
  segment: Segment;
  population: Population;
  /** Arms, the control first. */
  names: readonly string[];
  alpha: number;
};

/** Values of a segment that are compared: those with most users (count). */
const maxValues = 12;

export async function readSegments(executor: Executor, asked: Asked): Promise<SegmentsReport> {
  const { segment, population, names, alpha } = asked;
  const rows = await readRows(executor, asked);
  const values = [...new Set(rows.map(({ value }) => value))]
    .map((value) => ({
      value,
      sums: armSums(
        rows.filter((row) => row.value === value),
        population,
      ),
    }))
    .map((one) => ({ ...one, users: one.sums.reduce((sum, { users }) => sum + users, 0) }))
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

/** Name of those outside, where they are compared with. */
export const outside = 'outside';
