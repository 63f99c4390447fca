import type { Executor } from '../platform/db/pool.ts';
import { hourMs } from '../platform/lib/time.ts';
import type { MetricName } from './metrics.ts';
import { dimensionBits } from './rollup/grains.ts';

/** Of the metrics, those that counted anything for a publisher since a time, to the hour. */
export async function recordedMetrics<Name extends MetricName>(
  executor: Executor,
  publisherId: number,
  metrics: readonly Name[],
  sinceMs: number,
): Promise<Set<Name>> {
  const { rows } = await executor.query<Record<Name, boolean | null>>(
    `select ${metrics.map((name) => `bool_or(${name} > 0) as ${name}`).join(', ')} from rollups
    where publisher_id = $1 and grain = ${dimensionBits.placement} and bucket > $2`,
    [publisherId, new Date(sinceMs - hourMs)],
  );
  return new Set(metrics.filter((name) => rows[0]?.[name] === true));
}
