import { type ArmChanges, controlOf, holdoutArm } from '../../catalog/types.ts';
import { type UnitChanges, undoUnitChanges, writeUnitChanges } from '../../catalog-admin/unit-changes.ts';
import type { View } from '../../management/resource.ts';
import { getRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { experiments } from './experiments.ts';
import { withEntry } from './history.ts';
import { saveState } from './state.ts';
import type { ExperimentView } from './view.ts';

/**
 * Makes an arm permanent: writes its changes to placements, themes and floors, and stops the experiment. Adopting the
 * control arm changes nothing, and adopting the hold-out arm turns the ad unit off.
 * @throws AppError resource_not_found; invalid_request if the arm does not exist or one of its themes was removed;
 * conflict if the experiment has not run, an arm is already permanent, or one of the arm's changes can only be stored
 * in an experiment
 */
export async function adoptArm(work: Work, key: string, arm: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  if (current.adopted !== null)
    throw new AppError('conflict', {
      message: problem('armIsPermanent', { arm: current.adopted.arm }),
    });
  if (current.started_at === null && current.state !== 'running' && current.state !== 'ended')
    throw new AppError('conflict', { message: problem('hasNotRun') });
  const changes = unitChangesOf(current, arm);
  const written = await writeUnitChanges(work, current.placements, { changes, suffix: `(${key} ${arm})` });
  const { version } = current;
  return saveState(work, current, {
    stopped_at: current.stopped_at ?? new Date(work.nowMs),
    adopted: JSON.stringify({ arm, at: new Date(work.nowMs).toISOString(), by: work.actor.label, written }),
    history: withEntry(current, work, { action: 'adopt', version, arm }),
  });
}

/**
 * Reverts the adoption of an arm. The experiment remains stopped. If it is started again, each user gets the same arm
 * as before.
 * @throws AppError resource_not_found; conflict if no arm is permanent, or the adopted changes have been modified since
 */
export async function undoAdoption(work: Work, key: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  const { adopted, version } = current;
  if (adopted === null) throw new AppError('conflict', { message: problem('noArmPermanent') });
  await undoUnitChanges(work, adopted.written);
  const history = withEntry(current, work, { action: 'undo', version, arm: adopted.arm });
  return saveState(work, current, { adopted: null, history });
}

function unitChangesOf({ arms, holdout, campaign_id: campaignId }: ExperimentView, arm: string): UnitChanges {
  if (arm === holdoutArm && holdout > 0) {
    if (campaignId === null) return { unit_enabled: false };
    throw new AppError('conflict', { message: problem('stopCampaignInstead', { id: campaignId }) });
  }
  const selected = arms.find((candidate) => candidate.key === arm);
  if (selected === undefined)
    throw new AppError('invalid_request', { details: [{ path: '/arm', message: problem('noArm') }] });
  const { ranking, labels, ...rest } = selected.changes as ArmChanges;
  const path = `/arms/${arms.indexOf(selected)}/changes`;
  const details = [
    ...(ranking === undefined ? [] : [{ path: `${path}/ranking`, message: problem('rankingPlace') }]),
    ...(labels === undefined ? [] : [{ path: `${path}/labels`, message: problem('labelsPlace') }]),
  ];
  if (details.length > 0) throw new AppError('conflict', { message: problem('noPlace'), details });
  return rest;
}

/**
 * Returns the arms that can be made permanent, control arm first. Arms are left out if their changes can only be stored
 * in an experiment.
 */
export const adoptableArms = (experiment: ExperimentView): string[] => {
  const { arms, holdout, campaign_id: campaignId } = experiment;
  const control = controlOf(arms);
  const withPlace = arms.filter(({ changes }) => changes.ranking === undefined && changes.labels === undefined);
  return [
    ...withPlace.map(({ key }) => key).sort((a, b) => Number(b === control) - Number(a === control)),
    ...(holdout > 0 && campaignId === null ? [holdoutArm] : []),
  ];
};
