import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { AppError, type ErrorDetail, notFound } from '../platform/errors.ts';
import { namesEtag } from '../platform/http/etag.ts';
import type { KeyResources } from '../platform/http/key-restrictions.ts';
import { noun, problem } from '../platform/problem.ts';
import { audit } from './audit.ts';
import { defaultsOf, type Reference, type Resource, type Values, type View } from './resource.ts';
import { checkValue } from './schema-errors.ts';
import type { Work } from './unit-of-work.ts';

/** Options of an update. If `ifMatch` is null, any row version is updated. */
export type ChangeMode = { ifMatch: string | null; replace: boolean };

/** Thrown if the ETag does not match because the row has changed. `current` is the current row. */
export class PreconditionFailed extends AppError {
  readonly current: View;
  constructor(current: View, details: readonly ErrorDetail[]) {
    super('precondition_failed', { details });
    this.current = current;
  }
}

/** Returns the strong ETag of a row, with quotes. Equal rows have equal ETags. */
export const etagOf = (view: View): string => `"${hash('sha256', JSON.stringify(view), 'base64url').slice(0, 27)}"`;

/**
 * API keys that are limited to certain campaigns or placements (docs/reference/access-and-errors.md#api-keys) can only
 * read and change rows that belong to these. Every SQL statement on rows therefore includes a condition.
 */

const resourcesOf = ({ actor }: Work): KeyResources | null => actor.restrictions?.resources ?? null;

/**
 * Returns an SQL condition that excludes rows outside the actor's limits, to append to a query. Empty if the actor has
 * no limits.
 */
function limitOf({ within = {} }: Reference, work: Work): string {
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

/**
 * Checks that a new row is within the actor's limits.
 * @throws AppError permission_denied if it is not
 */
async function requireWithin(resource: Resource, work: Work, view: View): Promise<void> {
  if (resource.within === undefined || resourcesOf(work) === null) return;
  const { rowCount } = await work.executor.query(
    `select 1 from ${resource.table} where ${resource.key} = $1${limitOf(resource, work)}`,
    [view[resource.key]],
  );
  if (rowCount === 0)
    throw new AppError('permission_denied', { message: problem('keyOfOther', { nouns: noun(resource.noun, 2) }) });
}

/** Returns the SQL condition that limits rows to those that the unit of work may see. */
export const scopeOf = (resource: Reference, work: Work): string =>
  `(${resource.scope?.(work) ?? 'publisher_id = $1'})${limitOf(resource, work)}`;

/** Returns an SQL condition that excludes removed rows, to append to a query. */
const isKept = ({ removedAt }: Reference): string => (removedAt ? ` and ${removedAt} is null` : '');

/** Returns the SQL select list for reading rows in API format. */
export const columnsOf = ({ input, readOnly, key, expressions }: Resource, work: Work): string =>
  [...(key === 'id' ? ['id'] : []), ...Object.keys(input.properties), ...Object.keys(readOnly)]
    .map((name) => {
      const expression =
        expressions?.(work)[name] ?? (input.properties[name]?.type === 'number' ? `${name}::float8` : null);
      return expression === null ? name : `${expression} as ${name}`;
    })
    .join(', ');

export const viewOf = (row: Values): View =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (value instanceof Date) return [name, value.toISOString()];
      return [name, name === 'id' ? Number(value) : value]; // pg returns a bigint as text
    }),
  );

/** Converts a key to the type of its column. A malformed key is treated like one that does not exist. */
export function readKey(resource: Resource, key: string): string | number {
  if (resource.key !== 'id') {
    if (key.includes('\0') || !key.isWellFormed()) throw notFound(resource.noun);
    return key;
  }
  const id = /^[1-9]\d{0,9}$/.test(key) ? Number(key) : 0;
  if (id < 1 || id >= 2 ** 31) throw notFound(resource.noun);
  return id;
}

/**
 * Returns a row by its key.
 * @throws AppError resource_not_found, including for other publishers' rows and for removed rows
 */
export async function getRow(resource: Resource, work: Work, key: string, lock: '' | 'for update' = ''): Promise<View> {
  if (lock !== '') await resource.beforeLock?.(work, readKey(resource, key));
  const { rows } = await work.executor.query<Values>(
    `select ${columnsOf(resource, work)} from ${resource.table}
    where ${scopeOf(resource, work)} and ${resource.key} = $2${isKept(resource)} ${lock}`,
    [work.publisherId, readKey(resource, key)],
  );
  if (rows[0] === undefined) throw notFound(resource.noun);
  return viewOf(rows[0]);
}

/**
 * Creates a row. Fields with a default are optional.
 * @throws AppError invalid_request listing every invalid field; conflict
 */
export async function createRow(resource: Resource, work: Work, input: unknown): Promise<View> {
  const values = await checked(resource, work, { ...defaultsOf(resource), ...prepared(resource, input) }, null);
  await resource.beforeSave?.(work, values, null);
  const row = {
    ...values,
    ...(resource.scope === undefined && { publisher_id: work.publisherId }),
    ...resource.initial?.(work),
  };
  const all = Object.entries({ ...row, created_at: new Date(work.nowMs), updated_at: new Date(work.nowMs) });
  const view = await saved(
    resource,
    work,
    `insert into ${resource.table} (${all.map(([name]) => name).join(', ')})
    values (${all.map((_, index) => `$${index + 1}`).join(', ')})
    returning ${columnsOf(resource, work)}`,
    all.map(([, value]) => value),
  );
  await requireWithin(resource, work, view);
  await audit(work, { resource, action: 'create', before: null, after: view });
  return view;
}

/**
 * Changes some fields of a row, or replaces the whole row. If nothing changes, nothing is written or logged.
 * @throws AppError resource_not_found, invalid_request, conflict, permission_denied; PreconditionFailed
 */
export async function updateRow(
  resource: Resource,
  work: Work,
  key: string,
  input: unknown,
  mode: ChangeMode,
): Promise<View> {
  const current = await getRow(resource, work, key, 'for update');
  const fields = withoutUnchangeable(resource, prepared(resource, input), current);
  const currentInput = Object.fromEntries(Object.keys(resource.input.properties).map((name) => [name, current[name]]));
  const base = mode.replace ? { ...defaultsOf(resource), ...pick(currentInput, resource.fixed ?? []) } : currentInput;
  requireMatch(mode.ifMatch, current, { ...base, ...fields });
  const values = await checked(resource, work, { ...base, ...fields }, current);
  const changed = Object.entries(values).filter(([name, value]) => !isDeepStrictEqual(value, current[name]));
  if (changed.length === 0) return current;
  await resource.beforeSave?.(work, values, current);
  const view = await saved(
    resource,
    work,
    `update ${resource.table} set ${changed.map(([name], index) => `${name} = $${index + 4}`).join(', ')},
      updated_at = $3
    where ${scopeOf(resource, work)} and ${resource.key} = $2 returning ${columnsOf(resource, work)}`,
    [work.publisherId, readKey(resource, key), new Date(work.nowMs), ...changed.map(([, value]) => value)],
  );
  await audit(work, { resource, action: 'update', before: current, after: view });
  return view;
}

/**
 * Removes a row. If the resource has a `removedAt` column, the row is only marked as removed.
 * @throws AppError resource_not_found, in_use; PreconditionFailed
 */
export async function removeRow(resource: Resource, work: Work, key: string, ifMatch: string | null): Promise<View> {
  const current = await getRow(resource, work, key, 'for update');
  requireMatch(ifMatch, current, {});
  await requireUnused(resource, work, current);
  await resource.beforeRemove?.(work, current);
  const where = `where ${scopeOf(resource, work)} and ${resource.key} = $2`;
  const values = [work.publisherId, readKey(resource, key)];
  if (resource.removedAt === undefined) await work.executor.query(`delete from ${resource.table} ${where}`, values);
  else
    await work.executor.query(`update ${resource.table} set ${resource.removedAt} = $3, updated_at = $3 ${where}`, [
      ...values,
      new Date(work.nowMs),
    ]);
  await audit(work, { resource, action: 'remove', before: current, after: null });
  return current;
}

/**
 * Rejects an update that is based on an outdated row version. The error contains the current values of the fields that
 * the client sent.
 * @throws PreconditionFailed if the ETag does not match
 */
export function requireMatch(ifMatch: string | null, current: View, changes: Values): void {
  if (ifMatch === null || namesEtag(ifMatch, etagOf(current))) return;
  const details = Object.entries(changes)
    .filter(([name, value]) => Object.hasOwn(current, name) && !isDeepStrictEqual(value, current[name]))
    .map(([name]) => ({
      path: `/${name}`,
      message: problem('isNow', { value: JSON.stringify(current[name]).slice(0, 500) }),
    }));
  throw new PreconditionFailed(current, details);
}

function prepared(resource: Resource, input: unknown): Values {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new AppError('invalid_request', { details: [{ path: '/', message: problem('isObject') }] });
  return resource.prepare?.({ ...input }) ?? { ...input };
}

/**
 * Removes read-only fields from the input if they are unchanged, so that a client can send a row back as received.
 * Rejects input that changes them.
 */
function withoutUnchangeable(resource: Resource, fields: Values, current: View): Values {
  const details: ErrorDetail[] = [];
  const rest: Values = {};
  for (const [name, value] of Object.entries(fields)) {
    const isFixed = !(name in resource.input.properties) || resource.fixed?.includes(name) === true;
    if (!isFixed || !Object.hasOwn(current, name)) rest[name] = value;
    else if (!isDeepStrictEqual(value, current[name]))
      details.push({ path: `/${name}`, message: problem('cannotBeChanged') });
  }
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return rest;
}

/**
 * Returns the complete values of a row that is not stored. Fields with a default are optional.
 * @throws AppError invalid_request listing every invalid field
 */
export const completeRow = (resource: Resource, work: Work, input: unknown): Promise<Values> =>
  checked(resource, work, { ...defaultsOf(resource), ...prepared(resource, input) }, null);

/** Fills in missing values and validates the result. */
async function checked(resource: Resource, work: Work, input: Values, current: View | null): Promise<Values> {
  const shape = checkValue(resource.input, input);
  if (shape.length > 0) {
    const others = resource.checksAnyShape === true ? ((await resource.check?.(input, work, current)) ?? []) : [];
    const further = others.filter(({ path }) => !shape.some((detail) => detail.path === path));
    throw new AppError('invalid_request', { details: [...shape, ...further] });
  }
  const values = (await resource.complete?.(input, work, current)) ?? input;
  const details = [
    ...(await missingReferences(resource, work, values, current)),
    ...((await resource.check?.(values, work, current)) ?? []),
    ...((current && (await resource.checkChange?.(values, work, current))) ?? []),
  ];
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return values;
}

/**
 * Returns an error for each reference to a row that does not exist. The referenced rows are locked, so that they can't
 * be removed before the transaction ends.
 */
export async function missingReferences(
  resource: Resource,
  work: Work,
  values: Values,
  current: View | null,
): Promise<ErrorDetail[]> {
  const details: ErrorDetail[] = [];
  for (const [column, kind] of Object.entries(resource.references ?? {})) {
    const key = values[column];
    if (key === null || key === current?.[column]) continue;
    const { rowCount } = await work.executor.query(
      `select 1 from ${kind.table} where ${scopeOf(kind, work)} and ${kind.key} = $2${isKept(kind)} for no key update`,
      [work.publisherId, key],
    );
    if (rowCount === 0) details.push({ path: `/${column}`, message: problem('notFound', { noun: noun(kind.noun) }) });
  }
  return details;
}

async function requireUnused(resource: Resource, work: Work, current: View): Promise<void> {
  const details: ErrorDetail[] = [];
  for (const { noun: name, table, column, removable } of resource.heldBy ?? []) {
    const { rows } = await work.executor.query<{ count: number }>(
      `select count(*)::int as count from ${table} where ${column} = $1${removable ? ' and deleted_at is null' : ''}`,
      [current[resource.key]],
    );
    const count = rows[0]?.count ?? 0;
    if (count > 0) details.push({ path: '/', message: problem('usedBy', { count, noun: noun(name, count) }) });
  }
  if (details.length > 0)
    throw new AppError('in_use', { message: problem('inUse', { noun: noun(resource.noun) }), details });
}

/** Runs a statement that writes a single row. If a unique constraint is violated, throws a conflict error. */
export async function saved(resource: Resource, { executor }: Work, text: string, values: unknown[]): Promise<View> {
  try {
    const { rows } = await executor.query<Values>(text, values);
    return viewOf(rows[0] as Values);
  } catch (err) {
    const { code, constraint = '' } = err as { code?: string; constraint?: string };
    const field = resource.unique?.[constraint];
    if (code !== '23505' || field === undefined) throw err;
    throw new AppError('conflict', {
      message: problem('exists', { noun: noun(resource.noun) }),
      details: [{ path: `/${field}`, message: problem('taken') }],
      cause: err,
    });
  }
}

const pick = (values: Values, names: readonly string[]): Values =>
  Object.fromEntries(names.map((name) => [name, values[name]]));
