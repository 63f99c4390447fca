import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { type Resource, type Values, type View, viewSchema, type Warning } from './resource.ts';
import type { Work } from './unit-of-work.ts';

/**
 * Additions of later modules to the rows of a kind, such as what was spent of a campaign's budgets: no part of the
 * row, nor of its ETag, and left out where it is sent back.
 */
export type Additions = {
  fields: TProperties;
  /** The values of all fields, for each of some rows. */
  read: (work: Work, rows: readonly View[]) => Promise<(row: View) => Values>;
  /** Warnings about a row from those modules. */
  warn: (work: Work, row: View) => Promise<Warning[]>;
  /** Filters of lists by added fields, by the name of the field. */
  filters?: Readonly<Record<string, AddedFilter>>;
};

/** A filter by a computed field: its values, and the ids of the publisher's rows that have one of them. */
export type AddedFilter = {
  values: readonly string[];
  findIds: (work: Work, value: string) => Promise<number[]>;
};

/** Merges the additions of two modules to the rows of one kind. */
export const bothAdditions = (one: Additions | undefined, other: Additions): Additions =>
  one === undefined
    ? other
    : {
        fields: { ...one.fields, ...other.fields },
        read: async (work, rows) => {
          const [first, second] = [await one.read(work, rows), await other.read(work, rows)];
          return (row) => ({ ...first(row), ...second(row) });
        },
        warn: async (work, row) => [...(await one.warn(work, row)), ...(await other.warn(work, row))],
        filters: { ...one.filters, ...other.filters },
      };

/** By the name of the kind. */
export type AllAdditions = Readonly<Record<string, Additions | undefined>>;

type Kind = { name: string };

/** A row as answers show it. */
export function shownSchema(additions: AllAdditions, resource: Resource): TObject {
  const view = viewSchema(resource);
  const fields = additions[resource.name]?.fields;
  return fields === undefined ? view : Type.Object({ ...view.properties, ...fields }, { title: view.title ?? '' });
}

/** Rows as answers show them. */
export async function withAdditions(
  additions: AllAdditions,
  resource: Kind,
  work: Work,
  rows: readonly View[],
): Promise<View[]> {
  const added = rows.length === 0 ? undefined : await additions[resource.name]?.read(work, rows);
  return added === undefined ? [...rows] : rows.map((row) => ({ ...row, ...added(row) }));
}

export const warningsBeside = async (
  additions: AllAdditions,
  resource: Kind,
  work: Work,
  row: View,
): Promise<Warning[]> => (await additions[resource.name]?.warn(work, row)) ?? [];

/** Fields of a body without those that are only added. */
export function withoutAdditions(additions: AllAdditions, resource: Kind, fields: unknown): unknown {
  const added = additions[resource.name]?.fields;
  if (added === undefined || typeof fields !== 'object' || fields === null || Array.isArray(fields)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(added, name)));
}
