import { audit } from '../../management/audit.ts';
import type { View } from '../../management/resource.ts';
import { columnsOf, getRow, viewOf } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { arrange, type ExperimentView, experiments } from './experiments.ts';

/**
 * Starts an experiment now, whatever its `start_at` says. One that runs stays as it is; one that is over runs on as a
 * new version, with the same users in each arm.
 * @throws AppError resource_not_found; conflict naming what is in the way; invalid_request: its end has passed
 */
export async function startExperiment(work: Work, key: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  if (current.state === 'running') return current;
  if (current.end_at !== null && Date.parse(current.end_at) <= work.nowMs)
    throw new AppError('invalid_request', { details: [{ path: '/end_at', message: 'has passed' }] });
  const { version, versions, allocation, salt } = await arrange(current, work, current);
  return save(
    work,
    current,
    'version = $3, versions = $4, allocation = $5, salt = $6, started_at = $7, stopped_at = null',
    [...[version, versions, allocation, salt ?? (current as View).salt], new Date(work.nowMs)],
  );
}

/** Stops an experiment: from then on nothing is changed, and nobody is counted for it. Its numbers stay. */
export async function stopExperiment(work: Work, key: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  return current.state === 'stopped' ? current : save(work, current, 'stopped_at = $3', [new Date(work.nowMs)]);
}

async function save(work: Work, current: View, set: string, values: readonly unknown[]): Promise<View> {
  const { rows } = await work.executor.query(
    `update experiments set ${set}, updated_at = $${values.length + 3} where publisher_id = $1 and key = $2
    returning ${columnsOf(experiments, work)}`,
    [work.publisherId, current.key, ...values, new Date(work.nowMs)],
  );
  const after = viewOf(rows[0]);
  await audit(work, { resource: experiments, action: 'update', before: current, after });
  return after;
}
