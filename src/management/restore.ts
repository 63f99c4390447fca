import { AppError } from '../platform/errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import { audit } from './audit.ts';
import type { Resource, Values, View } from './resource.ts';
import { columnsOf, missingReferences, notFound, readKey, saved, scopeOf, viewOf } from './rows.ts';
import type { Work } from './unit-of-work.ts';

/** How long a removed row can be restored (docs/interface.md#management). */
export const restorableDays = 30;

/** Whether a row of a list of removed ones can still be restored. */
export const isRestorable = ({ deleted_at }: View, nowMs: number): boolean =>
  typeof deleted_at === 'string' && Date.parse(deleted_at) > nowMs - restorableDays * dayMs;

/**
 * Brings a removed row back as it was.
 * @throws AppError resource_not_found, also for what was removed too long ago; invalid_request where it belongs to
 * something that is removed itself; conflict where its key was taken meanwhile
 */
export async function restoreRow(resource: Resource, work: Work, key: string): Promise<View> {
  if (resource.removedAt !== 'deleted_at') throw notFound(resource);
  const where = `${scopeOf(resource, work)} and ${resource.key} = $2`;
  const values = [work.publisherId, readKey(resource, key)];
  const { rows } = await work.executor.query<Values>(
    `select ${columnsOf(resource, work)} from ${resource.table} where ${where} for update`,
    values,
  );
  const removed = rows[0] === undefined ? null : viewOf(rows[0]);
  if (removed === null || !isRestorable(removed, work.nowMs)) throw notFound(resource);
  const details = await missingReferences(resource, work, removed, null);
  if (details.length > 0)
    throw new AppError('invalid_request', {
      details: details.map(({ path, message }) => ({ path, message: `${message}: restore it first` })),
    });
  const view = await saved(
    resource,
    work,
    `update ${resource.table} set deleted_at = null, updated_at = $3 where ${where}
    returning ${columnsOf(resource, work)}`,
    [...values, new Date(work.nowMs)],
  );
  await audit(work, { resource, action: 'restore', before: removed, after: view });
  await resource.afterRestore?.(work, removed);
  return view;
}

/** Pauses a row that was read and locked, whatever else is in it. @returns whether it was active */
export async function pauseRow(resource: Resource, work: Work, current: View): Promise<boolean> {
  if (current.active !== true) return false;
  await work.executor.query(`update ${resource.table} set active = false, updated_at = $2 where ${resource.key} = $1`, [
    current[resource.key],
    new Date(work.nowMs),
  ]);
  await audit(work, { resource, action: 'update', before: current, after: { ...current, active: false } });
  return true;
}
