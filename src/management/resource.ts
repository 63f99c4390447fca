import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import type { Permission } from '../platform/http/auth.ts';
import type { Work } from './unit-of-work.ts';

/** Fields of a row by the names of its columns, which are the names clients use. */
export type Values = Record<string, unknown>;

/** A row as it is shown. */
export type View = Values;

export type SortType = 'text' | 'integer' | 'bigint' | 'timestamptz';

/** What may be wrong although it can be saved, such as a text longer than is ideal. */
export type Warning = ErrorDetail;

/** A kind of row that others name. */
export type Reference = Pick<Resource, 'noun' | 'table' | 'key' | 'removedAt' | 'scope' | 'within'>;

/**
 * A kind of thing that is configured: its table, the fields a client writes, those it only reads, and its rules. What
 * all kinds have in common (lists, ETags, the audit log, removal) is in `rows.ts` and `list.ts`.
 */
export type Resource = {
  /** Plural: in paths and in the audit log. */
  name: string;
  /** Singular, for messages. */
  noun: string;
  /** Name of its schema in the API reference. Default: the noun. */
  schemaName?: string;
  table: string;
  /** Column that names a row to clients. */
  key: 'id' | 'name' | 'key';
  permission: Permission;
  /** The fields a client writes, each a column; those with a `default` may be left out. */
  input: TObject;
  /** Further columns that are shown. */
  readOnly: TProperties;
  /** SQL condition on the rows the work may see; `$1` is its publisher. Default: the column publisher_id. */
  scope?: (work: Work) => string;
  /** SQL of the campaign (id) and the placement (name) that a row belongs to, for keys that are limited to some. */
  within?: { campaign?: string; placement?: string };
  /** SQL expressions of columns that are not shown as they are stored. */
  expressions?: (work: Work) => Readonly<Record<string, string>>;
  /** The publisher a row belongs to, for the audit log. Default: that of the work. */
  ownerOf?: (row: View) => number;
  /** Column that says when a row was removed; without one, removing deletes it. */
  removedAt?: 'deleted_at' | 'revoked_at';
  /** Only operators make one. */
  madeByOperators?: true;
  /** Columns written once. */
  fixed?: readonly string[];
  /** Columns only an operator changes. */
  operatorOnly?: readonly string[];
  /** Columns that name a row of another kind of the same publisher. */
  references?: Readonly<Record<string, Reference>>;
  /** Rows that keep one from being removed: a table and its column. */
  heldBy?: readonly { noun: string; table: string; column: string; removable: boolean }[];
  /** Unique constraints by name, with the field that breaks them. */
  unique?: Readonly<Record<string, string>>;
  /** What a list can be ordered by, with the column's SQL type. */
  sorts: Readonly<Record<string, SortType>>;
  /** Default: by the key. */
  defaultSort?: string;
  /** Columns a list can be filtered by. */
  filters: readonly string[];
  /** Columns that `q` looks through. */
  searched: readonly string[];
  /** Puts given fields into the form in which they are kept, before they are checked. */
  prepare?: (values: Values) => Values;
  /** Fills in what was left out, from the other fields and from other rows. */
  complete?: (values: Values, work: Work, current: View | null) => Promise<Values>;
  /** Rules beyond the schema, on the whole row as it would be saved. */
  check?: (values: Values, work: Work, current: View | null) => ErrorDetail[] | Promise<ErrorDetail[]>;
  /** Rules about changes of a stored row, for calls and for plans of catalogue files. Reads only. */
  checkChange?: (values: Values, work: Work, current: View) => Promise<ErrorDetail[]>;
  /** Whether `check` also takes fields of a wrong shape, so that all errors are told at once. */
  checksAnyShape?: boolean;
  /** The part of `warn` about macros of URLs. Catalogue files and drafts use it, too: it takes any values. */
  warnOfUrls?: (values: Values) => Warning[];
  warn?: (view: View, work: Work) => Warning[] | Promise<Warning[]>;
  /** Columns set when a row is made, beside those of the input. */
  initial?: (work: Work) => Values;
  /** Locks what a row belongs to, before the row that is to be changed: in one order, writers cause no deadlock. */
  beforeLock?: (work: Work, key: string | number) => Promise<void>;
  /** What else changes with a row, in its transaction, before it is written. */
  beforeSave?: (work: Work, values: Values, current: View | null) => Promise<void>;
  beforeRemove?: (work: Work, current: View) => Promise<void>;
  /** What else comes back with a row. `removed`: as it was until then. */
  afterRestore?: (work: Work, removed: View) => Promise<void>;
};

export const orNull = <Schema extends TSchema>(
  schema: Schema,
  options: { default?: null; description?: string; title?: string } = {},
) => Type.Union([withoutDefault(schema), Type.Null()], options);

/** The same schema without a default of its own, which would stand next to that of the whole field. */
function withoutDefault<Schema extends TSchema>({ default: _default, ...schema }: Schema): Schema {
  return schema as unknown as Schema;
}

/** A time set by the server. */
export const timestamp = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });

export const idSchema = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** Fields every kind shows. */
export const stamps = { created_at: timestamp(), updated_at: timestamp() };

export const removal = {
  deleted_at: orNull(timestamp(), { title: 'RemovedAt', description: 'When it was removed; null: it was not.' }),
};

/** Of kinds with a kill switch: what their rows show of it. */
export const stopFields = {
  stopped: Type.Boolean({ description: 'Whether the kill switch keeps it from being shown, whatever else it says.' }),
  stopped_at: orNull(timestamp(), { title: 'StoppedAt' }),
  stopped_by: orNull(Type.String(), {
    title: 'StoppedBy',
    description: 'Name of the key or e-mail address of the user; null: it is not stopped.',
  }),
};

/** SQL of those that are no columns. */
export const stopExpressions = (): Readonly<Record<string, string>> => ({ stopped: 'stopped_at is not null' });

export const schemaNameOf = ({ schemaName, noun }: Resource): string => schemaName ?? pascal(noun);

const hasDefault = (schema: TSchema): boolean => Object.hasOwn(schema, 'default');

const mapFields = (fields: TProperties, change: (schema: TSchema) => TSchema): TProperties =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, change(schema)]));

/** Body of a call that makes a row or replaces it: what has a default may be left out. */
export const createBody = (resource: Resource): TObject =>
  Type.Object(
    mapFields(resource.input.properties, (schema) => (hasDefault(schema) ? Type.Optional(schema) : schema)),
    { title: `${schemaNameOf(resource)}Input`, additionalProperties: false },
  );

/** Body of a call that changes some fields. */
export const patchBody = (resource: Resource): TObject =>
  Type.Object(
    mapFields(resource.input.properties, (schema) => Type.Optional(withoutDefault(schema))),
    { title: `${schemaNameOf(resource)}Changes`, additionalProperties: false },
  );

export const viewSchema = (resource: Resource): TObject =>
  Type.Object(
    {
      ...(resource.key === 'id' ? { id: Type.Integer() } : {}),
      ...mapFields(resource.input.properties, withoutDefault),
      ...resource.readOnly,
    },
    { title: schemaNameOf(resource) },
  );

/** Value of every field that has a default. */
export const defaultsOf = ({ input }: Resource): Values =>
  Object.fromEntries(
    Object.entries(input.properties)
      .filter(([, schema]) => hasDefault(schema))
      .map(([name, schema]) => [name, structuredClone(schema.default as unknown)]),
  );

/** `sequence rule` → `SequenceRule`. */
export const pascal = (text: string): string => text.split(/[ -]/).map(capital).join('');

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
