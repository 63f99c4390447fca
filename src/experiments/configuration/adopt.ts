import type { ArmChanges } from '../../catalog/experiments.ts';
import { controlOf, holdoutArm } from '../../catalog/experiments.ts';
import { type UnitChanges, undoUnitChanges, writeUnitChanges } from '../../catalog/unit-changes.ts';
import type { View } from '../../management/resource.ts';
import { getRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { experiments } from './experiments.ts';
import { withEntry } from './history.ts';
import { saveState } from './state.ts';
import type { ExperimentView } from './view.ts';

/**
 * Makes an arm permanent: what it changes is written into placements, themes and floors, and the experiment stops. Of
 * the control nothing is written; the hold-out turns the unit off.
 * @throws AppError resource_not_found; invalid_request: there is no such arm, or a theme of it was removed; conflict:
 *   it has not run, an arm is permanent already, or what the arm changes has no place outside of experiments
 */
export async function adoptArm(work: Work, key: string, arm: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  if (current.adopted !== null)
    throw new AppError('conflict', {
      message: `The arm ${current.adopted.arm} is permanent already: undo that first.`,
    });
  if (current.started_at === null && current.state !== 'running' && current.state !== 'ended')
    throw new AppError('conflict', { message: 'The experiment has not run yet.' });
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
 * Writes back what making an arm permanent has written. The experiment stays stopped; started again, it has the same
 * users in each arm.
 * @throws AppError resource_not_found; conflict: nothing is permanent, or what was written was changed since
 */
export async function undoAdoption(work: Work, key: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  const { adopted, version } = current;
  if (adopted === null) throw new AppError('conflict', { message: 'No arm of the experiment is permanent.' });
  await undoUnitChanges(work, adopted.written);
  const history = withEntry(current, work, { action: 'undo', version, arm: adopted.arm });
  return saveState(work, current, { adopted: null, history });
}

function unitChangesOf({ arms, holdout, campaign_id: campaignId }: ExperimentView, arm: string): UnitChanges {
  if (arm === holdoutArm && holdout > 0) {
    if (campaignId === null) return { unit_enabled: false };
    throw new AppError('conflict', { message: `Stop campaign ${campaignId} instead, or pause it.` });
  }
  const found = arms.find((one) => one.key === arm);
  if (found === undefined)
    throw new AppError('invalid_request', { details: [{ path: '/arm', message: 'is no arm of the experiment' }] });
  const { ranking, labels, ...rest } = found.changes as ArmChanges;
  const path = `/arms/${arms.indexOf(found)}/changes`;
  const details = [
    ...(ranking === undefined ? [] : [{ path: `${path}/ranking`, message: 'is set in the campaigns' }]),
    ...(labels === undefined ? [] : [{ path: `${path}/labels`, message: 'are set where the page calls the web SDK' }]),
  ];
  if (details.length > 0)
    throw new AppError('conflict', { message: 'What the arm changes is no setting of a placement.', details });
  return rest;
}

/** Arms that can be made permanent in one call. */
export const adoptableArms = (experiment: ExperimentView): string[] => {
  const { arms, holdout, campaign_id: campaignId } = experiment;
  const control = controlOf(arms);
  const withPlace = arms.filter(({ changes }) => changes.ranking === undefined && changes.labels === undefined);
  return [
    ...withPlace.map(({ key }) => key).sort((a, b) => Number(b === control) - Number(a === control)),
    ...(holdout > 0 && campaignId === null ? [holdoutArm] : []),
  ];
};
