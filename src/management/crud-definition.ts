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

/** Row of an edit page; `view` is null for a new row. */
export type Editing = { view: View | null; values: Values };

/** Figures of rows: columns of the list, read at once for all its rows, and a card on the page of a row. */
export type Figures<C extends PageContext> = {
  columns: () => readonly Column[];
  cells: (context: C, rows: readonly View[]) => Promise<(row: View) => Cell[]>;
  card: (context: C, view: View) => Promise<Html>;
};

/**
 * Definition of the pages of one resource: a list, and a form that creates, changes and removes rows. Its texts are
 * keys of messages, which each request reads in its own language.
 */
export type Crud<C extends PageContext> = {
  resource: Resource;
  /** Path below the prefix of the pages. */
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
  /** Filters of the list in addition to its search, with the names of their query parameters. */
  filters?: { names: readonly string[]; fields: (context: C) => Promise<Html> };
  nameOf: (row: View) => string;
  /** Converts a row's values to form values. */
  toForm?: (values: Values, context: C) => FormValues;
  /** Converts form values to a row's values. */
  read: (fields: Fields, context: C) => Values;
  /** Moves errors of a row's values to the fields that show them. */
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
  /** Further scripts and styles. With `preview.js`, `beside` shows the current values of the form. */
  assets?: readonly AssetName[];
  /** Page to show instead of the form of a new row if none can be created yet. */
  blocked?: (context: C) => Promise<Html | null>;
  /** Values of a new row that differ from the resource's defaults. */
  initial?: (context: C) => Values;
  /** Creates a row from a form that may have a file. By default, only the values are used. */
  create?: (context: C, values: Values, upload: Upload | null) => Promise<View>;
  /** Result after creating a row. Default: redirects to the page of the new row. */
  afterCreate?: (context: C, view: View) => PageResult | Promise<PageResult>;
  removable?: boolean;
  /** Whether changes can be undone; the audit log has all previous values. */
  undoable?: boolean;
  /** Actions for several rows of the list at once, in addition to removing them. */
  bulk?: readonly BulkAction[];
};

export type BulkAction = {
  name: string;
  /** Text of the button. */
  text: MessageKey;
  /** Label of the text field next to the button; absent if the action has none. */
  field?: MessageKey;
  /** Message after the action with a count of `{things}`, such as "3 campaigns paused." */
  done: MessageKey;
  /** Fields that the action changes. `typed` is the content of the text field. */
  change: (row: View, typed: string) => Values;
  /** Name of the action that undoes it. */
  undoneBy: string;
  /** Whether it only undoes another action and has no button. */
  isUndo?: true;
};

/** Actions for kinds with a field `active`. */
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

/** Shared parameters of the functions behind the pages of a resource. */
export type CrudPages<C extends PageContext> = { crud: Crud<C>; management: ManagementClient };

export const listPath = <C extends PageContext>({ path }: Crud<C>, context: C): string => context.path(path);

export const rowPath = <C extends PageContext>({ path, resource }: Crud<C>, context: C, view: View): string =>
  context.path(`${path}/${encodeURIComponent(String(view[resource.key]))}`);

export const canWrite = <C extends PageContext>({ writes }: Crud<C>, { viewer }: C): boolean =>
  hasRole(viewer.user.role, writes);

/** Whether removed rows can be restored. */
export const isRestorableKind = <C extends PageContext>({ resource, removable }: Crud<C>): boolean =>
  removable !== false && resource.removedAt === 'deleted_at';

/** Breadcrumbs of a row's page. */
export const trailOf = <C extends PageContext>(crud: Crud<C>, context: C): { text: string; href: string }[] => [
  { text: t(crud.title), href: listPath(crud, context) },
];

/** Noun for a row, such as "campaign", or "campaigns" for several. */
export const nounOf = ({ noun }: Resource, count = 1): string =>
  t(`nouns.${noun.replaceAll(' ', '_')}` as MessageKey, { count });
