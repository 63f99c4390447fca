import type { Slots } from '../../catalog/types.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { type ArmInput, touchedBy } from './changes.ts';

/** Fields that determine whether two experiments may run at the same time. */
type Scope = {
  key: string;
  placements: readonly string[] | null;
  campaign_id: number | null;
  layer: string | null;
  holdout: number;
  arms: ArmInput[];
};

export type LiveExperiment = Scope & { allocation: Slots[] };

/**
 * Returns the running and scheduled experiments of a publisher. Takes a lock, so that concurrent changes wait until the
 * transaction ends.
 */
export async function liveExperiments({ executor, publisherId, nowMs }: Work): Promise<LiveExperiment[]> {
  await executor.query('select 1 from publishers where id = $1 for no key update', [publisherId]);
  const { rows } = await executor.query<LiveExperiment>(
    `select key, placements, campaign_id, layer, holdout, arms, allocation from experiments
    where publisher_id = $1 and stopped_at is null and coalesce(started_at, start_at) is not null
      and (end_at is null or end_at > $2) order by id`,
    [publisherId, new Date(nowMs)],
  );
  return rows;
}

/**
 * Checks that an experiment with this scope would not conflict with other experiments.
 * @throws AppError conflict if an experiment in a different layer changes the same setting at the same placement
 */
export function requireNoConflict(scope: Scope, others: readonly LiveExperiment[]): void {
  const own = touches(scope);
  for (const other of others) {
    const isApart = scope.layer !== null && scope.layer === other.layer;
    if (isApart || !overlap(scope.placements, other.placements)) continue;
    const shared = touches(other).filter((name) => own.includes(name));
    if (shared.length === 0) continue;
    throw new AppError('conflict', {
      message: problem('sameSetting', { first: scope.key, second: other.key, names: shared.join(', ') }),
      details: shared.map((name) => ({
        path: '/arms',
        message: problem('alsoChanged', { setting: name, key: other.key }),
      })),
    });
  }
}

const touches = ({ arms, holdout, campaign_id: campaignId }: Scope): string[] => [
  ...touchedBy(arms),
  ...(holdout > 0 ? [campaignId === null ? 'holdout' : `holdout of campaign ${campaignId}`] : []),
];

const overlap = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  a === null || b === null || a.some((name) => b.includes(name));
