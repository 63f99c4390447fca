import { isDeepStrictEqual } from 'node:util';
import { AppError, notFound } from '../platform/errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import { audit } from './audit.ts';
import type { Resource, Values, View } from './resource.ts';
import {
  columnsOf,
  getRow,
  missingReferences,
  PreconditionFailed,
  readKey,
  saved,
  scopeOf,
  updateRow,
  viewOf,
} from './rows.ts';
import type { Work } from './unit-of-work.ts';

/** Number of days for which a removed row can be restored (docs/reference/management.md#resources). */
export const restorableDays = 30;

/** Whether a removed row can still be restored. */
export const isRestorable = ({ deleted_at }: View, nowMs: number): boolean =>
  typeof deleted_at === 'string' && Date.parse(deleted_at) > nowMs - restorableDays * dayMs;

/**
 * Restores a removed row.
 * @throws AppError resource_not_found, including if the row was removed too long ago; invalid_request if its parent has
 * also been removed; conflict if its key is in use
 */
export async function restoreRow(resource: Resource, work: Work, key: string): Promise<View> {
  if (resource.removedAt !== 'deleted_at') throw notFound(resource.noun);
  const where = `${scopeOf(resource, work)} and ${resource.key} = $2`;
  const values = [work.publisherId, readKey(resource, key)];
  await resource.beforeLock?.(work, readKey(resource, key));
  const { rows } = await work.executor.query<Values>(
    `select ${columnsOf(resource, work)} from ${resource.table} where ${where} for update`,
    values,
  );
  const removed = rows[0] === undefined ? null : viewOf(rows[0]);
  if (removed === null || !isRestorable(removed, work.nowMs)) throw notFound(resource.noun);
  const details = await missingReferences(resource, work, removed, null);
  if (details.length > 0)
    throw new AppError('invalid_request', {
      details: details.map(({ path, message }) => ({ path, message: problem('restoreFirst', { problem: message }) })),
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

/**
 * Pauses a row that is already loaded and locked, without validating its other fields.
 * @returns whether the row was active
 */
export async function pauseRow(resource: Resource, work: Work, current: View): Promise<boolean> {
  if (current.active !== true) return false;
  await work.executor.query(`update ${resource.table} set active = false, updated_at = $2 where ${resource.key} = $1`, [
    current[resource.key],
    new Date(work.nowMs),
  ]);
  await audit(work, { resource, action: 'update', before: current, after: { ...current, active: false } });
  return true;
}

/** Changed fields from an audit log entry, with their old and new values. */
type Changes = Readonly<Record<string, { old: unknown; new: unknown }>>;

/** Returns the previous values of those changed fields that are writable. */
export function formerValues({ input, fixed }: Resource, changes: Changes): Values {
  const names = Object.keys(input.properties).filter((name) => fixed?.includes(name) !== true);
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(changes, name) ? [[name, changes[name]?.old]] : [])),
  );
}

/**
 * Undoes a change that the actor made by restoring the previous values of the changed fields.
 * @param entryId ID of the audit log entry
 * @throws AppError resource_not_found if the actor made no such change; PreconditionFailed if one of the fields has
 * changed since then; errors of updateRow
 */
export async function undoChange(resource: Resource, work: Work, key: string, entryId: string): Promise<View> {
  const { executor, actor, publisherId } = work;
  const current = await getRow(resource, work, key, 'for update');
  const { rows } = await executor.query<{ changes: Changes }>(
    `select changes from audit_log where publisher_id = $1 and id = $2 and resource = $3 and resource_id = $4
      and action = 'update' and actor_kind = $5 and actor_id = $6`,
    [
      ...[resource.ownerOf?.(current) ?? publisherId, /^\d{1,18}$/.test(entryId) ? entryId : '0', resource.name],
      ...[String(current[resource.key]), actor.kind, actor.id],
    ],
  );
  const changes = rows[0]?.changes;
  if (changes === undefined) throw notFound(resource.noun);
  const former = formerValues(resource, changes);
  const since = Object.keys(former).filter((name) => !isDeepStrictEqual(current[name], changes[name]?.new));
  if (since.length > 0)
    throw new PreconditionFailed(
      current,
      since.map((name) => ({ path: `/${name}`, message: problem('changedAfterwards') })),
    );
  return updateRow(resource, work, key, former, { ifMatch: null, replace: false });
}
