import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import type { Permission } from '../platform/http/auth.ts';
import type { Noun } from '../platform/problem.ts';
import type { Work } from './unit-of-work.ts';

/** Column values of a row by column name. API fields have the same names. */
export type Values = Record<string, unknown>;

/** Row in API format. */
export type View = Values;

export type SortType = 'text' | 'integer' | 'bigint' | 'timestamptz';

/** Problem that does not prevent saving, such as a text over the recommended length. */
export type Warning = ErrorDetail;

/** Resource that other resources refer to. */
export type Reference = Pick<Resource, 'noun' | 'table' | 'key' | 'removedAt' | 'scope' | 'within'>;

/**
 * Definition of a configurable resource: its table, its writable and read-only fields, and its rules. The code that all
 * resources share (lists, ETags, audit log, removal) is in `rows.ts` and `list.ts`.
 */
export type Resource = {
  /** Plural name, used in paths and in the audit log. */
  name: string;
  /** Singular noun, used in messages. */
  noun: Noun;
  /** Schema name in the API reference. Default: the noun. */
  schemaName?: string;
  table: string;
  /** Column that identifies a row in the API. */
  key: 'id' | 'name' | 'key';
  permission: Permission;
  /** Schema of the writable fields. Each field is a column. Fields with a `default` are optional. */
  input: TObject;
  /** Schemas of the read-only columns. */
  readOnly: TProperties;
  /**
   * SQL condition that limits rows to those visible to the unit of work. `$1` is the publisher id. Default: a condition
   * on the publisher_id column.
   */
  scope?: (work: Work) => string;
  /** SQL expressions for the campaign id and placement name of a row, used for keys with limited resources. */
  within?: { campaign?: string; placement?: string };
  /** SQL expressions for columns that are not returned as stored. */
  expressions?: (work: Work) => Readonly<Record<string, string>>;
  /** Returns the publisher whose audit log records changes to a row. Default: the publisher of the unit of work. */
  ownerOf?: (row: View) => number;
  /** Column with the removal time. If absent, removing a row deletes it. */
  removedAt?: 'deleted_at' | 'revoked_at';
  /** Whether only operators can create rows. */
  madeByOperators?: true;
  /** Columns that are read-only after creation. */
  fixed?: readonly string[];
  /** Foreign key columns and the resources of the same publisher that they refer to. */
  references?: Readonly<Record<string, Reference>>;
  /** Tables and columns with references that prevent the removal of a row. */
  heldBy?: readonly { noun: Noun; table: string; column: string; removable: boolean }[];
  /** Unique constraints by name, with the field to report on a violation. */
  unique?: Readonly<Record<string, string>>;
  /** Sortable columns and their SQL types. */
  sorts: Readonly<Record<string, SortType>>;
  /** Default sort column. If absent, rows are sorted by their key. */
  defaultSort?: string;
  /** Columns that lists can be filtered by. */
  filters: readonly string[];
  /** Columns that the `q` parameter searches. */
  searched: readonly string[];
  /** Normalises input fields before validation. */
  prepare?: (values: Values) => Values;
  /** Fills in missing fields from other fields and other rows. */
  complete?: (values: Values, work: Work, current: View | null) => Promise<Values>;
  /** Validation rules beyond the schema. They are checked on the complete row before it is saved. */
  check?: (values: Values, work: Work, current: View | null) => ErrorDetail[] | Promise<ErrorDetail[]>;
  /** Validation rules for changes to a stored row, used by API calls and by catalogue file plans. Must not write. */
  checkChange?: (values: Values, work: Work, current: View) => Promise<ErrorDetail[]>;
  /** Whether `check` accepts fields of the wrong type, so that all errors are reported at once. */
  checksAnyShape?: boolean;
  /**
   * Returns the warnings of `warn` about macros in URLs. Catalogue files and drafts also use this function, so it
   * accepts unvalidated values.
   */
  warnOfUrls?: (values: Values) => Warning[];
  warn?: (view: View, work: Work) => Warning[] | Promise<Warning[]>;
  /** Values of columns that are set on creation in addition to the input. */
  initial?: (work: Work) => Values;
  /** Locks the parents of a row before the row itself. The fixed lock order prevents deadlocks between writers. */
  beforeLock?: (work: Work, key: string | number) => Promise<void>;
  /** Makes related changes in the same transaction before the row is written. */
  beforeSave?: (work: Work, values: Values, current: View | null) => Promise<void>;
  beforeRemove?: (work: Work, current: View) => Promise<void>;
  /** Restores dependent rows. `removed` is the row as it was before it was restored. */
  afterRestore?: (work: Work, removed: View) => Promise<void>;
};

export const orNull = <Schema extends TSchema>(
  schema: Schema,
  options: { default?: null; description?: string; title?: string } = {},
) => Type.Union([withoutDefault(schema), Type.Null()], options);

/** Returns the schema without its own default, which would otherwise appear next to the default of the whole field. */
function withoutDefault<Schema extends TSchema>({ default: _default, ...schema }: Schema): Schema {
  return schema as unknown as Schema;
}

/** Schema of a timestamp set by the server. */
export const timestamp = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });

export const idSchema = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** Timestamp fields that every resource returns. */
export const stamps = { created_at: timestamp(), updated_at: timestamp() };

export const removal = {
  deleted_at: orNull(timestamp(), { title: 'RemovedAt', description: 'Time of the removal, or `null`.' }),
};

/** Read-only fields of resources with a kill switch. */
export const stopFields = {
  stopped: Type.Boolean({ description: 'Whether the kill switch hides it, regardless of its other fields.' }),
  stopped_at: orNull(timestamp(), { title: 'StoppedAt' }),
  stopped_by: orNull(Type.String(), {
    title: 'StoppedBy',
    description: 'Name of the key or e-mail address of the user who stopped it. `null` if it is not stopped.',
  }),
};

/** SQL expressions for the kill switch fields that are not columns. */
export const stopExpressions = (): Readonly<Record<string, string>> => ({ stopped: 'stopped_at is not null' });

export const schemaNameOf = ({ schemaName, noun }: Resource): string => schemaName ?? pascal(noun);

const hasDefault = (schema: TSchema): boolean => Object.hasOwn(schema, 'default');

const mapFields = (fields: TProperties, change: (schema: TSchema) => TSchema): TProperties =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, change(schema)]));

/** Returns the request body schema for creating or replacing a row. Fields with a default are optional. */
export const createBody = (resource: Resource): TObject =>
  Type.Object(
    mapFields(resource.input.properties, (schema) => (hasDefault(schema) ? Type.Optional(schema) : schema)),
    { title: `${schemaNameOf(resource)}Input`, additionalProperties: false },
  );

/** Returns the request body schema for a partial update. */
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

/** Returns the default values of all fields that have a default. */
export const defaultsOf = ({ input }: Resource): Values =>
  Object.fromEntries(
    Object.entries(input.properties)
      .filter(([, schema]) => hasDefault(schema))
      .map(([name, schema]) => [name, structuredClone(schema.default as unknown)]),
  );

/** Converts a noun to Pascal case: `sequence rule` → `SequenceRule`. */
export const pascal = (text: string): string => text.split(/[ -]/).map(capital).join('');

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
