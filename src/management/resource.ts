import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import type { Permission } from '../platform/http/auth.ts';
import type { Noun } from '../platform/problem.ts';
import type { Work } from './unit-of-work.ts';

/** Column values of a row, keyed by column name. API fields have the same names as columns. */
export type Values = Record<string, unknown>;

/** Row in API format. */
export type View = Values;

export type SortType = 'text' | 'integer' | 'bigint' | 'timestamptz';

/** Problem that does not prevent saving, such as copy that is longer than recommended. */
export type Warning = ErrorDetail;

/** Resource that other resources refer to. */
export type Reference = Pick<Resource, 'noun' | 'table' | 'key' | 'removedAt' | 'scope' | 'within'>;

/**
 * Definition of a configurable resource: its table, its writable and read-only fields, and its rules. The code shared
 * by all resources (lists, ETags, audit log, removal) is in `rows.ts` and `list.ts`.
 */
export type Resource = {
  /** Plural name, used in paths and in the audit log. */
  name: string;
  /** Singular noun, used in messages. */
  noun: Noun;
  /** Name of the schema in the API reference. Default: the noun. */
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
   * SQL condition that limits rows to those that the unit of work may see. `$1` is the publisher ID. Default: a
   * condition on the publisher_id column.
   */
  scope?: (work: Work) => string;
  /**
   * SQL expressions for the campaign ID and placement name of a row. Used for API keys that are limited to certain
   * campaigns or placements.
   */
  within?: { campaign?: string; placement?: string };
  /** SQL expressions for columns that are not returned as stored. */
  expressions?: (work: Work) => Readonly<Record<string, string>>;
  /** Returns the publisher whose audit log records changes to a row. Default: the publisher of the unit of work. */
  ownerOf?: (row: View) => number;
  /** Column with the removal time. If absent, rows are deleted when they are removed. */
  removedAt?: 'deleted_at' | 'revoked_at';
  /** Whether only operators can create rows. */
  madeByOperators?: true;
  /** Columns that can't be changed after creation. */
  fixed?: readonly string[];
  /**
   * Foreign key columns, and the resource that each refers to. The referenced rows must belong to the same publisher.
   */
  references?: Readonly<Record<string, Reference>>;
  /** Tables and columns whose references to a row prevent its removal. */
  heldBy?: readonly { noun: Noun; table: string; column: string; removable: boolean }[];
  /** Unique constraints, keyed by name, with the field to report if one is violated. */
  unique?: Readonly<Record<string, string>>;
  /** Sortable columns, with their SQL types. */
  sorts: Readonly<Record<string, SortType>>;
  /** Default sort column. If absent, rows are sorted by their key. */
  defaultSort?: string;
  /** Columns by which lists can be filtered. */
  filters: readonly string[];
  /** Columns in which the `q` parameter searches. */
  searched: readonly string[];
  /** Normalises input fields before validation. */
  prepare?: (values: Values) => Values;
  /** Fills in missing fields from other fields and other rows. */
  complete?: (values: Values, work: Work, current: View | null) => Promise<Values>;
  /** Validation rules beyond the schema. They are checked on the complete row before it is saved. */
  check?: (values: Values, work: Work, current: View | null) => ErrorDetail[] | Promise<ErrorDetail[]>;
  /**
   * Validation rules for changes to a stored row, used by API calls and when a catalogue file is planned. Must not
   * write to the database.
   */
  checkChange?: (values: Values, work: Work, current: View) => Promise<ErrorDetail[]>;
  /** Whether `check` can handle fields of the wrong type. If so, all errors are reported at once. */
  checksAnyShape?: boolean;
  /**
   * Returns those warnings of `warn` that concern macros in URLs. It is also used for catalogue files and drafts, so it
   * must accept unvalidated values.
   */
  warnOfUrls?: (values: Values) => Warning[];
  warn?: (view: View, work: Work) => Warning[] | Promise<Warning[]>;
  /** Values of columns that are set on creation but are not part of the input. */
  initial?: (work: Work) => Values;
  /**
   * Locks the parents of a row before the row itself. This fixed order prevents deadlocks between concurrent writes.
   */
  beforeLock?: (work: Work, key: string | number) => Promise<void>;
  /** Makes related changes in the same transaction before the row is written. */
  beforeSave?: (work: Work, values: Values, current: View | null) => Promise<void>;
  beforeRemove?: (work: Work, current: View) => Promise<void>;
  /** Restores dependent rows. `removed` is the row as it was before the restore. */
  afterRestore?: (work: Work, removed: View) => Promise<void>;
};

export const orNull = <Schema extends TSchema>(
  schema: Schema,
  options: { default?: null; description?: string; title?: string } = {},
) => Type.Union([withoutDefault(schema), Type.Null()], options);

/**
 * Returns the schema without its own default. In the API reference, it would otherwise appear in addition to the
 * default of the whole field.
 */
function withoutDefault<Schema extends TSchema>({ default: _default, ...schema }: Schema): Schema {
  return schema as unknown as Schema;
}

/** Schema of a timestamp that the server sets. */
export const timestamp = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });

export const idSchema = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** Timestamp fields that every resource returns. */
export const stamps = { created_at: timestamp(), updated_at: timestamp() };

export const removal = {
  deleted_at: orNull(timestamp(), { title: 'RemovedAt', description: 'Time of the removal, or `null`.' }),
};

/** Read-only fields for resources with a kill switch. */
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
