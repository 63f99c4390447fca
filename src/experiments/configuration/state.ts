import { audit } from '../../management/audit.ts';
import type { Values, View } from '../../management/resource.ts';
import { columnsOf, getRow, viewOf } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { check } from './check.ts';
import { arrange, experiments } from './experiments.ts';
import { withEntry } from './history.ts';
import type { ExperimentView } from './view.ts';

/**
 * Starts an experiment immediately, regardless of its `start_at`. If it is already running, nothing changes. If it has
 * ended, it continues as a new version with the same users in each arm. An earlier adoption of an arm can then no
 * longer be undone.
 * @throws AppError resource_not_found; conflict, with the conflicting experiments; invalid_request if the end time has
 * passed or one of its themes was removed
 */
export async function startExperiment(work: Work, key: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  if (current.state === 'running') return current;
  if (current.end_at !== null && Date.parse(current.end_at) <= work.nowMs)
    throw new AppError('invalid_request', { details: [{ path: '/end_at', message: problem('hasPassed') }] });
  const details = await check(current, work);
  if (details.length > 0) throw new AppError('invalid_request', { details });
  const { salt = (current as View).salt, ...arranged } = await arrange(current, work, current, 'start');
  const started = { started_at: new Date(work.nowMs), stopped_at: null, adopted: null };
  return saveState(work, current, { ...arranged, salt, ...started });
}

/** Stops an experiment. It no longer changes responses or counts users. Its results remain available. */
export async function stopExperiment(work: Work, key: string): Promise<View> {
  const current = (await getRow(experiments, work, key, 'for update')) as ExperimentView;
  if (current.state === 'stopped') return current;
  const history = withEntry(current, work, { action: 'stop', version: current.version });
  return saveState(work, current, { stopped_at: new Date(work.nowMs), history });
}

/** Saves columns that API clients can't write. */
export async function saveState(work: Work, current: ExperimentView, columns: Values): Promise<View> {
  const { rows } = await work.executor.query(
    `update experiments set ${Object.keys(columns).map((name, at) => `${name} = $${at + 4}`)}, updated_at = $3
    where publisher_id = $1 and key = $2 returning ${columnsOf(experiments, work)}`,
    [work.publisherId, current.key, new Date(work.nowMs), ...Object.values(columns)],
  );
  const after = viewOf(rows[0]);
  await audit(work, { resource: experiments, action: 'update', before: current, after });
  return after;
}
