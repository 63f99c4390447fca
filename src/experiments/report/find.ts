import { controlOf } from '../../catalog/types.ts';
import { getRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { ArmInput } from '../configuration/changes.ts';
import { experiments } from '../configuration/experiments.ts';
import type { ExperimentView } from '../configuration/view.ts';
import { type ExperimentPlan, planOf } from './plan.ts';
import { type ExperimentReport, type ReportOptions, reportOf } from './report.ts';

/**
 * Returns the report of a publisher's experiment.
 * @throws AppError resource_not_found
 */
export async function reportFor(work: Work, key: string, options: ReportOptions): Promise<ExperimentReport> {
  const view = (await getRow(experiments, work, key)) as ExperimentView;
  const { rows } = await work.executor.query<{ id: number; erased_users: number }>(
    'select id, erased_users from experiments where publisher_id = $1 and key = $2',
    [work.publisherId, key],
  );
  return reportOf(work, { ...view, ...(rows[0] as { id: number; erased_users: number }) }, options);
}

export type PlannedDesign = Pick<ExperimentView, 'arms' | 'holdout' | 'placements' | 'smallest_lift'>;

/**
 * Returns the traffic shares of all arms, control first. Without a control arm, the first share is that of the users
 * outside the experiment.
 */
export function plannedShares({ arms, holdout }: { arms: ArmInput[]; holdout: number }): number[] {
  const control = controlOf(arms);
  const others = [
    ...(holdout > 0 ? [holdout] : []),
    ...arms.filter(({ key }) => key !== control).map((arm) => arm.share),
  ];
  const rest = Math.max(0, 1 - others.reduce((sum, share) => sum + share, 0));
  return [arms.find(({ key }) => key === control)?.share ?? rest, ...others];
}

/** Estimates the duration of an experiment, which need not be stored yet. `userKeyMark` is the prefix of user keys. */
export const planFor = (
  { executor, publisherId, nowMs }: Work,
  design: PlannedDesign,
  userKeyMark: string,
): Promise<ExperimentPlan> =>
  planOf(executor, {
    publisherId,
    userKeyMark,
    placements: design.placements,
    shares: plannedShares(design),
    lift: design.smallest_lift,
    nowMs,
  });
