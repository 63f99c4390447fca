import type { Html } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import type { Cell, Column, IconName } from '../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  type FormValues,
  hasRole,
  type PageContext,
  type Role,
} from '../shell/context.ts';
import type { FormBuilder } from '../shell/forms.ts';
import type { AssetName } from '../shell/layout.ts';
import type { PageResult, Upload } from '../shell/pages.ts';
import type { ManagementClient } from './page-client.ts';
import type { Resource, Values, View } from './resource.ts';

/** Row shown on an edit page. `view` is null for a new row. */
export type Editing = { view: View | null; values: Values };

/**
 * Statistics about rows: list columns, which are loaded for all listed rows in one query, and a card on the row's page.
 */
export type Figures<C extends PageContext> = {
  columns: () => readonly Column[];
  cells: (context: C, rows: readonly View[]) => Promise<(row: View) => Cell[]>;
  card: (context: C, view: View) => Promise<Html>;
};

/**
 * Definition of a resource's pages: a list, and a form to create, change and remove rows. Texts are message keys, which
 * are translated for each request.
 */
export type Crud<C extends PageContext> = {
  resource: Resource;
  /** Path below the prefix of the dashboard pages. */
  path: string;
  nav: string;
  icon: IconName;
  title: MessageKey;
  lead: MessageKey;
  reads?: Role;
  writes: Role;
  columns: () => readonly Column[];
  cells: (context: C, row: View) => Cell[];
  figures?: Figures<C>;
  empty: { title: MessageKey; text: MessageKey };
  /** List filters in addition to the search, with their query parameter names. */
  filters?: { names: readonly string[]; fields: (context: C) => Promise<Html> };
  nameOf: (row: View) => string;
  /** Converts row values to form values. */
  toForm?: (values: Values, context: C) => FormValues;
  /** Converts form values to row values. */
  read: (fields: Fields, context: C) => Values;
  /** Maps errors of row values to the form fields that display them. */
  errorsToForm?: (errors: FieldErrors, fields: Fields) => FieldErrors;
  fields: (form: FormBuilder, context: C, editing: Editing) => Html | Promise<Html>;
  /** Content next to the form, such as a preview. */
  beside?: (context: C, editing: Editing) => Html | Promise<Html>;
  /** Content above the form of an existing row. */
  notice?: (context: C, view: View) => Promise<Html>;
  /** Content below the form of an existing row. */
  below?: (context: C, view: View) => Html | Promise<Html>;
  /** Buttons next to the title of an existing row. */
  actions?: (context: C, view: View) => Html;
  /** Additional scripts and styles. With `preview.js`, `beside` shows the current form values. */
  assets?: readonly AssetName[];
  /** Returns the page to show instead of the new-row form, or null if a row can be created. */
  blocked?: (context: C) => Promise<Html | null>;
  /** Initial values of a new row that differ from the resource's defaults. */
  initial?: (context: C) => Values;
  /** Creates a row from a form with an optional uploaded file. By default, only the form values are used. */
  create?: (context: C, values: Values, upload: Upload | null) => Promise<View>;
  /** Result after a row was created. Default: a redirect to the new row's page. */
  afterCreate?: (context: C, view: View) => PageResult | Promise<PageResult>;
  removable?: boolean;
  /** Whether changes can be undone with the previous values from the audit log. */
  undoable?: boolean;
  /** Bulk actions on selected list rows, in addition to removal. */
  bulk?: readonly BulkAction[];
};

export type BulkAction = {
  name: string;
  /** Button text. */
  text: MessageKey;
  /** Label of the text field next to the button. Absent if the action has no text field. */
  field?: MessageKey;
  /** Success message with a `{things}` placeholder for the number of rows, such as "3 campaigns paused." */
  done: MessageKey;
  /** Returns the changed fields of a row. `typed` is the content of the text field. */
  change: (row: View, typed: string) => Values;
  /** Name of the action that reverses this one. */
  undoneBy: string;
  /** Whether the action only reverses another one and therefore has no button. */
  isUndo?: true;
};

/** Pause and resume actions for resources with an `active` field. */
export const pauseActions: readonly BulkAction[] = [
  { name: 'pause', text: 'crud.pause', done: 'crud.paused', change: () => ({ active: false }), undoneBy: 'activate' },
  {
    name: 'activate',
    text: 'crud.activate',
    done: 'crud.activated',
    change: () => ({ active: true }),
    undoneBy: 'pause',
  },
];

/** Shared parameters of the functions that render a resource's pages. */
export type CrudPages<C extends PageContext> = { crud: Crud<C>; management: ManagementClient };

export const listPath = <C extends PageContext>({ path }: Crud<C>, context: C): string => context.path(path);

export const rowPath = <C extends PageContext>({ path, resource }: Crud<C>, context: C, view: View): string =>
  context.path(`${path}/${encodeURIComponent(String(view[resource.key]))}`);

export const canWrite = <C extends PageContext>({ writes }: Crud<C>, { viewer }: C): boolean =>
  hasRole(viewer.user.role, writes);

/** Whether removed rows can be restored. */
export const isRestorableKind = <C extends PageContext>({ resource, removable }: Crud<C>): boolean =>
  removable !== false && resource.removedAt === 'deleted_at';

/** Breadcrumbs of a row page. */
export const trailOf = <C extends PageContext>(crud: Crud<C>, context: C): { text: string; href: string }[] => [
  { text: t(crud.title), href: listPath(crud, context) },
];

/** Noun for rows of the resource, such as "campaign", or "campaigns" if `count` is not 1. */
export const nounOf = ({ noun }: Resource, count = 1): string =>
  t(`nouns.${noun.replaceAll(' ', '_')}` as MessageKey, { count });
