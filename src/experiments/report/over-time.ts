import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { compare, type Estimate } from '../statistics/compare.ts';
import { noMoments } from '../statistics/moments.ts';
import { type ArmSums, readRows, type SumsRow } from './sums.ts';

/** Results of an experiment at the end of a day. */
type Point = { day: string; rows: SumsRow[] };

/** Records the current results of running experiments. They replace results recorded earlier on the same day. */
export async function recordPoints(pool: pg.Pool, nowMs: number): Promise<void> {
  const { rows } = await pool.query<{ id: number; version: number }>(
    `select id, version from experiments where stopped_at is null and coalesce(started_at, start_at) <= $1
      and (end_at is null or end_at > $1)`,
    [new Date(nowMs)],
  );
  for (const { id, version } of rows) {
    const sums = await readRows(pool, { experimentId: id, version, segment: null });
    if (sums.length > 0) await writePoint(pool, id, { version, day: dayOf(nowMs), sums });
  }
}

/** Stores the results of an experiment, unless it has been removed in the meantime. */
const writePoint = (
  executor: Executor,
  id: number,
  { version, day, sums }: { version: number; day: string; sums: readonly SumsRow[] },
) =>
  executor.query(
    `insert into experiment_points (experiment_id, version, day, sums)
    select id, $2, $3, $4 from experiments where id = $1
    on conflict (experiment_id, version, day) do update set sums = excluded.sums`,
    [id, version, day, JSON.stringify(sums)],
  );

/**
 * Deletes the per-user totals of experiments that ended before a given time. First records the final results of each
 * version for its last day, so that reports remain available.
 * @returns number of users whose totals were deleted
 */
export async function deleteSumsOfUsers(pool: pg.Pool, endedBefore: Date): Promise<number> {
  const { rows } = await pool.query<{ id: number; ended: string; versions: number[] }>(
    `select e.id, (least(e.stopped_at, e.end_at) at time zone 'UTC')::date::text as ended,
      array(select distinct version from experiment_units u where u.experiment_id = e.id) as versions
    from experiments e where least(e.stopped_at, e.end_at) < $1
      and exists (select from experiment_units u where u.experiment_id = e.id)`,
    [endedBefore],
  );
  let users = 0;
  for (const { id, ended, versions } of rows)
    users += await transaction(pool, async (executor) => {
      for (const version of versions) {
        const sums = await readRows(executor, { experimentId: id, version, segment: null });
        const [last] = (await readPoints(executor, { experimentId: id, version })).slice(-1);
        await writePoint(executor, id, { version, day: last?.day ?? ended, sums });
      }
      const deleted = await executor.query('delete from experiment_units where experiment_id = $1', [id]);
      await executor.query('delete from experiment_outcomes where experiment_id = $1', [id]);
      return deleted.rowCount ?? 0;
    });
  return users;
}

/** Reads the daily results of a version, oldest first. If there are too many days, only the latest are returned. */
export async function readPoints(
  executor: Executor,
  { experimentId, version }: { experimentId: number; version: number },
): Promise<Point[]> {
  const { rows } = await executor.query<Point>({
    name: 'experiment_points',
    text: `select day::text, sums as rows from experiment_points where experiment_id = $1 and version = $2
      order by day desc limit ${maxDays}`,
    values: [experimentId, version],
  });
  return rows.toReversed();
}

const maxDays = 120;

/** Revenue lift of an arm with its confidence interval, or with a null `lift` if there are too few users. */
export type ArmLift = { arm: string; lift: Estimate | null; isSignificant: boolean };

/**
 * Returns the revenue lift of each arm over the control, which comes first in `names`. `alpha` is the error probability
 * per arm.
 */
export function revenueLifts(names: readonly string[], sums: readonly ArmSums[], alpha: number): ArmLift[] {
  const revenueOf = (name: string) => sums.find(({ arm }) => arm === name)?.metrics.revenue ?? noMoments;
  const [control = '', ...others] = names;
  return others.map((arm) => {
    const result = compare(revenueOf(control), revenueOf(arm), { alpha });
    return { arm, lift: result?.lift ?? null, isSignificant: result?.isSignificant ?? false };
  });
}

/**
 * Whether the result is conclusive: the revenue differs significantly, or any difference is smaller than the lift that
 * the experiment is meant to detect.
 */
export function isAnswered({ lift, isSignificant }: Omit<ArmLift, 'arm'>, smallestLift: number): boolean {
  if (lift === null) return false;
  return isSignificant || Math.max(Math.abs(lift.low), Math.abs(lift.high)) < smallestLift;
}
