import { type AuditAction, audit } from '../../management/audit.ts';
import type { Resource, Values, View } from '../../management/resource.ts';
import { columnsOf, getRow, readKey, scopeOf, viewOf } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';

export type StopAction = Extract<AuditAction, 'stop' | 'resume'>;

/**
 * Stops or resumes a row without changing its other fields. If the row is already in the requested state, it is neither
 * changed nor logged.
 * @throws AppError resource_not_found
 */
export async function setStopped(resource: Resource, work: Work, key: string, action: StopAction): Promise<View> {
  const current = await getRow(resource, work, key, 'for update');
  const stop = action === 'stop';
  if (current.stopped === stop) return current;
  const now = new Date(work.nowMs);
  const { rows } = await work.executor.query<Values>(
    `update ${resource.table} set stopped_at = $3, stopped_by = $4, updated_at = $5
    where ${scopeOf(resource, work)} and ${resource.key} = $2 returning ${columnsOf(resource, work)}`,
    [work.publisherId, readKey(resource, key), stop ? now : null, stop ? work.actor.label : null, now],
  );
  const after = viewOf(rows[0] as Values);
  await audit(work, { resource, action, before: current, after });
  return after;
}
