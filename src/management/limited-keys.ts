import pg from 'pg';
import { AppError } from '../platform/errors.ts';
import type { KeyResources } from '../platform/http/key-restrictions.ts';
import type { Reference, Resource, View } from './resource.ts';
import type { Work } from './unit-of-work.ts';

/*
 * Keys that are limited to some campaigns or placements (docs/interface.md#keys) see and touch only their rows,
 * whatever call they are used for: each statement on rows has this condition.
 */

const resourcesOf = ({ actor }: Work): KeyResources | null => actor.restrictions?.resources ?? null;

/** SQL condition, to be appended, that leaves out what the actor is not limited to; '' where nothing limits it. */
export function limitOf({ within = {} }: Reference, work: Work): string {
  const resources = resourcesOf(work);
  if (resources === null) return '';
  const conditions = [
    ...(within.campaign === undefined || resources.campaigns === null
      ? []
      : [`${within.campaign} = any(array[${[...resources.campaigns].join(', ')}]::integer[])`]),
    ...(within.placement === undefined || resources.placements === null
      ? []
      : [`${within.placement} = any(array[${[...resources.placements].map(pg.escapeLiteral).join(', ')}])`]),
  ];
  return ` and ${conditions.length === 0 ? 'false' : `(${conditions.join(' and ')})`}`;
}

/** @throws AppError permission_denied for a row that a limited actor has made beyond its limit */
export async function requireWithin(resource: Resource, work: Work, view: View): Promise<void> {
  if (resource.within === undefined || resourcesOf(work) === null) return;
  const { rowCount } = await work.executor.query(
    `select 1 from ${resource.table} where ${resource.key} = $1${limitOf(resource, work)}`,
    [view[resource.key]],
  );
  if (rowCount === 0)
    throw new AppError('permission_denied', { message: `The key is limited to other ${resource.name}.` });
}
