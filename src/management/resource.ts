import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import type { Permission } from '../platform/http/auth.ts';
import type { Noun } from '../platform/problem.ts';
import type { Work } from './unit-of-work.ts';

/** Fields of a row by column name. Clients use the same names. */
export type Values = Record<string, unknown>;

/** A row in the format of the API. */
export type View = Values;

export type SortType = 'text' | 'integer' | 'bigint' | 'timestamptz';

/** A problem that does not prevent saving, such as a text over the ideal length. */
export type Warning = ErrorDetail;

/** Kind of rows that other rows refer to. */
export type Reference = Pick<Resource, 'noun' | 'table' | 'key' | 'removedAt' | 'scope' | 'within'>;

/**
 * A kind of configurable rows: its table, writable and read-only fields, and rules. The code that all kinds share
 * (lists, ETags, audit log, removal) is in `rows.ts` and `list.ts`.
 */
export type Resource = {
  /** Plural, used in paths and in the audit log. */
  name: string;
  /** Singular, for messages. */
  noun: Noun;
  /** Name of its schema in the API reference. Default: the noun. */
  schemaName?: string;
  table: string;
  /** Column that identifies a row to clients. */
  key: 'id' | 'name' | 'key';
  permission: Permission;
  /** Writable fields, each a column. Fields with a `default` are optional. */
  input: TObject;
  /** Read-only columns. */
  readOnly: TProperties;
  /** SQL condition for the rows that the work may see; `$1` is its publisher. Default: the column publisher_id. */
  scope?: (work: Work) => string;
  /** SQL of the campaign (id) and the placement (name) that a row belongs to, for keys with limited resources. */
  within?: { campaign?: string; placement?: string };
  /** SQL expressions of columns that are not returned as stored. */
  expressions?: (work: Work) => Readonly<Record<string, string>>;
  /** Publisher that a row belongs to, for the audit log. Default: that of the work. */
  ownerOf?: (row: View) => number;
  /** Column with the time of removal. If absent, removing a row deletes it. */
  removedAt?: 'deleted_at' | 'revoked_at';
  /** Whether only operators can create rows. */
  madeByOperators?: true;
  /** Columns that cannot be changed after creation. */
  fixed?: readonly string[];
  /** Columns that refer to a row of another kind of the same publisher. */
  references?: Readonly<Record<string, Reference>>;
  /** Tables and columns whose rows prevent removal of the rows they refer to. */
  heldBy?: readonly { noun: Noun; table: string; column: string; removable: boolean }[];
  /** Unique constraints by name, with the field that violates them. */
  unique?: Readonly<Record<string, string>>;
  /** Sortable columns with their SQL types. */
  sorts: Readonly<Record<string, SortType>>;
  /** Default order: by the key. */
  defaultSort?: string;
  /** Columns that a list can be filtered by. */
  filters: readonly string[];
  /** Columns that `q` searches. */
  searched: readonly string[];
  /** Normalises input fields before they are checked. */
  prepare?: (values: Values) => Values;
  /** Fills in missing fields from other fields and rows. */
  complete?: (values: Values, work: Work, current: View | null) => Promise<Values>;
  /** Rules beyond the schema, checked on the complete row before it is saved. */
  check?: (values: Values, work: Work, current: View | null) => ErrorDetail[] | Promise<ErrorDetail[]>;
  /** Rules for changes of a stored row, for calls and for plans of catalogue files. Must not write. */
  checkChange?: (values: Values, work: Work, current: View) => Promise<ErrorDetail[]>;
  /** Whether `check` accepts fields of the wrong type, so that all errors are reported at once. */
  checksAnyShape?: boolean;
  /** Warnings of `warn` about macros in URLs. Catalogue files and drafts use it as well, so it accepts any values. */
  warnOfUrls?: (values: Values) => Warning[];
  warn?: (view: View, work: Work) => Warning[] | Promise<Warning[]>;
  /** Columns that are set when a row is created, in addition to the input. */
  initial?: (work: Work) => Values;
  /** Locks the parents of a row before the row itself. A fixed order prevents deadlocks of writers. */
  beforeLock?: (work: Work, key: string | number) => Promise<void>;
  /** Changes that belong to the same transaction, before the row is written. */
  beforeSave?: (work: Work, values: Values, current: View | null) => Promise<void>;
  beforeRemove?: (work: Work, current: View) => Promise<void>;
  /** Restores rows that depend on a row. `removed` is the row before it was restored. */
  afterRestore?: (work: Work, removed: View) => Promise<void>;
};

export const orNull = <Schema extends TSchema>(
  schema: Schema,
  options: { default?: null; description?: string; title?: string } = {},
) => Type.Union([withoutDefault(schema), Type.Null()], options);

/** Schema without its own default, which would otherwise appear next to that of the whole field. */
function withoutDefault<Schema extends TSchema>({ default: _default, ...schema }: Schema): Schema {
  return schema as unknown as Schema;
}

/** Schema of a time set by the server. */
export const timestamp = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });

export const idSchema = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** Fields that every kind returns. */
export const stamps = { created_at: timestamp(), updated_at: timestamp() };

export const removal = {
  deleted_at: orNull(timestamp(), { title: 'RemovedAt', description: 'Time of the removal, or `null`.' }),
};

/** Read-only fields of kinds with a kill switch. */
export const stopFields = {
  stopped: Type.Boolean({ description: 'Whether the kill switch hides it, regardless of its other fields.' }),
  stopped_at: orNull(timestamp(), { title: 'StoppedAt' }),
  stopped_by: orNull(Type.String(), {
    title: 'StoppedBy',
    description: 'Name of the key or e-mail address of the user who stopped it. `null` if it is not stopped.',
  }),
};

/** SQL of those fields that are not columns. */
export const stopExpressions = (): Readonly<Record<string, string>> => ({ stopped: 'stopped_at is not null' });

export const schemaNameOf = ({ schemaName, noun }: Resource): string => schemaName ?? pascal(noun);

const hasDefault = (schema: TSchema): boolean => Object.hasOwn(schema, 'default');

const mapFields = (fields: TProperties, change: (schema: TSchema) => TSchema): TProperties =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, change(schema)]));

/** Body of a call that creates or replaces a row. Fields with a default are optional. */
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

/** Defaults of all fields that have one. */
export const defaultsOf = ({ input }: Resource): Values =>
  Object.fromEntries(
    Object.entries(input.properties)
      .filter(([, schema]) => hasDefault(schema))
      .map(([name, schema]) => [name, structuredClone(schema.default as unknown)]),
  );

/** Converts a noun to Pascal case: `sequence rule` → `SequenceRule`. */
export const pascal = (text: string): string => text.split(/[ -]/).map(capital).join('');

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
