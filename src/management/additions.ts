import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { type Resource, type Values, type View, viewSchema, type Warning } from './resource.ts';
import type { Work } from './unit-of-work.ts';

/**
 * Fields that other modules add to a resource's rows in responses, such as the spent budget of a campaign. They are not
 * part of the row or its ETag, and are ignored in requests.
 */
export type Additions = {
  fields: TProperties;
  /** Reads the values of all added fields for a list of rows. */
  read: (work: Work, rows: readonly View[]) => Promise<(row: View) => Values>;
  /** Returns the warnings of other modules about a row. */
  warn: (work: Work, row: View) => Promise<Warning[]>;
  /** List filters for added fields, keyed by field name. */
  filters?: Readonly<Record<string, AddedFilter>>;
};

/**
 * List filter for a computed field: its allowed values, and a function that finds the publisher's rows with a given
 * value.
 */
export type AddedFilter = {
  values: readonly string[];
  findIds: (work: Work, value: string) => Promise<number[]>;
};

/** Merges the additions that two modules make to the same resource. */
export const bothAdditions = (base: Additions | undefined, other: Additions): Additions =>
  base === undefined
    ? other
    : {
        fields: { ...base.fields, ...other.fields },
        read: async (work, rows) => {
          const [first, second] = [await base.read(work, rows), await other.read(work, rows)];
          return (row) => ({ ...first(row), ...second(row) });
        },
        warn: async (work, row) => [...(await base.warn(work, row)), ...(await other.warn(work, row))],
        filters: { ...base.filters, ...other.filters },
      };

/** Additions, keyed by resource name. */
export type AllAdditions = Readonly<Record<string, Additions | undefined>>;

type Kind = { name: string };

/** Returns the response schema of a row, including the fields that other modules add. */
export function shownSchema(additions: AllAdditions, resource: Resource): TObject {
  const view = viewSchema(resource);
  const fields = additions[resource.name]?.fields;
  return fields === undefined ? view : Type.Object({ ...view.properties, ...fields }, { title: view.title ?? '' });
}

/** Adds other modules' fields to the rows of a response. */
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

/** Removes the fields that other modules add from a request body. */
export function withoutAdditions(additions: AllAdditions, resource: Kind, fields: unknown): unknown {
  const added = additions[resource.name]?.fields;
  if (added === undefined || typeof fields !== 'object' || fields === null || Array.isArray(fields)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(added, name)));
}
