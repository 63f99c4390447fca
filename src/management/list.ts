import { hash } from 'node:crypto';
import type { TSchema } from '@sinclair/typebox';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';
import type { Signer } from '../platform/security/tracking-token.ts';
import type { AddedFilter } from './additions.ts';
import { idSchema, type Resource, type SortType, type Values, type View } from './resource.ts';
import { columnsOf, scopeOf, viewOf } from './rows.ts';
import type { Work } from './unit-of-work.ts';

export const defaultLimit = 50;
export const maxLimit = 100;

export type Page = { rows: View[]; nextCursor: string | null };

/** Query parameters of a list call, not yet parsed. */
export type ListQuery = Readonly<Record<string, unknown>>;

type Order = { column: string; type: SortType; descending: boolean };

/** Position of the last row on a page: its sort value as text, and its key. */
type Position = { value: string; key: string };

/** Parameters that every list accepts, in addition to the resource's filters. */
const general = ['limit', 'cursor', 'sort', 'q', 'removed', 'publisher_id', 'api_key'];

/**
 * Returns a page of rows. Rows are filtered by column values, searched by `q` and ordered by `sort` (a `-` prefix means
 * descending). The page starts at `cursor`.
 * @param signer signer for cursors; rejects cursors that were modified or come from another list
 * @param added filters by fields that are not columns
 * @throws AppError invalid_request listing every invalid parameter
 */
export async function listRows(
  resource: Resource,
  work: Work,
  query: ListQuery,
  { signer, added = {} }: { signer: Signer; added?: Readonly<Record<string, AddedFilter>> | undefined },
): Promise<Page> {
  const details = [
    ...Object.keys(query)
      .filter((name) => !general.includes(name) && !resource.filters.includes(name) && !Object.hasOwn(added, name))
      .map((name) => ({ path: name, message: problem('unknownHere') })),
    ...Object.entries(query).flatMap(([name, value]) =>
      typeof value === 'string' && !value.includes('\0') && value.isWellFormed()
        ? []
        : [{ path: name, message: problem('givenOnce') }],
    ),
  ];
  if (details.length > 0) throw invalid(details);
  const texts = query as Record<string, string | undefined>;
  const order = readOrder(resource, texts.sort);
  const limit = readLimit(texts.limit);
  const list = hash(
    'sha256',
    `${resource.name}\0${scopeOf(resource, work)}\0${work.publisherId}\0${JSON.stringify(order)}`,
    'base64url',
  );
  const position = texts.cursor === undefined ? null : openCursor(signer, list, texts.cursor);

  const values: unknown[] = [work.publisherId];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions = conditionsOf(resource, texts, parameter);
  for (const [name, { values: allowedValues, findIds }] of Object.entries(added)) {
    const value = texts[name];
    if (value === undefined) continue;
    if (!allowedValues.includes(value))
      throw invalid([{ path: name, message: problem('oneOf', { choices: allowedValues.join(', ') }) }]);
    conditions.push(`id = any(${parameter(await findIds(work, value))}::integer[])`);
  }
  const sign = order.descending ? '<' : '>';
  if (position !== null) {
    const keyType = resource.key === 'id' ? 'bigint' : 'text';
    conditions.push(
      `(${order.column}, ${resource.key}) ${sign}
        (${parameter(position.value)}::${order.type}, ${parameter(position.key)}::${keyType})`,
    );
  }
  const direction = order.descending ? 'desc' : 'asc';
  const { rows } = await work.executor.query<Values & { sort_value: string }>(
    `select *, ${order.column}::text as sort_value from
      (select ${columnsOf(resource, work)} from ${resource.table}
      where ${scopeOf(resource, work)}${removedCondition(resource, texts.removed)}) as r
    ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
    order by ${order.column} ${direction}, ${resource.key} ${direction} limit ${limit + 1}`,
    values,
  );
  const pageRows = rows.slice(0, limit);
  const last = pageRows.at(-1);
  const nextCursor =
    rows.length > limit && last !== undefined
      ? sealCursor(signer, list, { value: last.sort_value, key: String(last[resource.key]) })
      : null;
  return { rows: pageRows.map(({ sort_value: _sortValue, ...row }) => viewOf(row)), nextCursor };
}

/** Returns the IDs and names of rows that are not removed, sorted by name. */
export async function listNames(
  resource: Resource,
  work: Work,
  limit: number,
): Promise<{ id: number; name: string }[]> {
  const { rows } = await work.executor.query<{ id: number; name: string }>(
    `select id, name from ${resource.table} where ${scopeOf(resource, work)}${removedCondition(resource, undefined)}
    order by name, id limit ${limit}`,
    [work.publisherId],
  );
  return rows;
}

function removedCondition({ removedAt }: Resource, removed: string | undefined): string {
  if (removed !== undefined && removed !== 'true' && removed !== 'false')
    throw invalid([{ path: 'removed', message: problem('isBoolean') }]);
  if (removedAt === undefined) return removed === 'true' ? ' and false' : '';
  return ` and ${removedAt} is ${removed === 'true' ? 'not ' : ''}null`;
}

function conditionsOf(
  resource: Resource,
  query: Record<string, string | undefined>,
  parameter: (value: unknown) => string,
): string[] {
  const conditions: string[] = [];
  for (const name of resource.filters) {
    const text = query[name];
    if (text === undefined) continue;
    const value = readFilter(name, text, filterSchema(resource, name));
    conditions.push(value === null ? `${name} is null` : `${name} = ${parameter(value)}`);
  }
  if (query.q !== undefined && query.q !== '') {
    if (resource.searched.length === 0) throw invalid([{ path: 'q', message: problem('unknownHere') }]);
    const pattern = parameter(`%${query.q.replace(/[\\%_]/g, '\\$&')}%`);
    conditions.push(`(${resource.searched.map((name) => `${name} ilike ${pattern}`).join(' or ')})`);
  }
  return conditions;
}

/** Returns the schema of a filterable column. */
export const filterSchema = ({ input, readOnly }: Resource, name: string): TSchema =>
  input.properties[name] ?? readOnly[name] ?? idSchema;

/** Returns the alternatives of a union schema, or the schema itself if it is not a union. */
export const choicesOf = (schema: TSchema): TSchema[] => (schema.anyOf as TSchema[] | undefined) ?? [schema];

/** Parses a filter value according to the type of its column. For a nullable column, the text `null` means null. */
function readFilter(name: string, text: string, schema: TSchema): unknown {
  const choices = choicesOf(schema);
  if (text === 'null' && choices.some(({ type }) => type === 'null')) return null;
  if (choices.some(({ type }) => type === 'boolean')) {
    if (text !== 'true' && text !== 'false') throw invalid([{ path: name, message: problem('isBoolean') }]);
    return text === 'true';
  }
  if (choices.some(({ type }) => type === 'integer')) {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number < 2 ** 31)) throw invalid([{ path: name, message: problem('isInteger') }]);
    return number;
  }
  return text;
}

function readOrder({ sorts, key, defaultSort }: Resource, sort: string | undefined): Order {
  const sortBy = sort ?? defaultSort ?? key;
  const column = sortBy.replace(/^-/, '');
  const type = Object.hasOwn(sorts, column) ? sorts[column] : undefined;
  if (type === undefined)
    throw invalid([{ path: 'sort', message: problem('sortBy', { choices: Object.keys(sorts).join(', ') }) }]);
  return { column, type, descending: sortBy.startsWith('-') };
}

function readLimit(text: string | undefined): number {
  const limit = text === undefined ? defaultLimit : /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit)
    throw invalid([{ path: 'limit', message: problem('limitRange', { max: maxLimit }) }]);
  return limit;
}

const invalid = (details: readonly ErrorDetail[]): AppError =>
  new AppError('invalid_request', {
    details: details.map(({ path, message }) => ({ path: `/querystring/${path}`, message })),
  });

/**
 * Returns the digest to sign for a cursor. It covers the list's identity, which includes the publisher and sort order.
 */
const digest = (list: string, text: string): Buffer => hash('sha256', `${list}\0${text}`, 'buffer');

function sealCursor(signer: Signer, list: string, { value, key }: Position): string {
  const text = JSON.stringify([value, key]);
  return Buffer.concat([Buffer.from([signer.keyId]), signer.sign(digest(list, text)), Buffer.from(text)]).toString(
    'base64url',
  );
}

function openCursor(signer: Signer, list: string, cursor: string): Position {
  const bytes = Buffer.from(cursor, 'base64url');
  const text = bytes.subarray(17).toString();
  if (bytes.length <= 17 || !signer.verify(bytes[0] ?? 0, digest(list, text), bytes.subarray(1, 17)))
    throw invalid([{ path: 'cursor', message: problem('noCursor') }]);
  const [value, key] = JSON.parse(text) as [string, string];
  return { value, key };
}
