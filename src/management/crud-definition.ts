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
 * Statistics about rows: columns for the list, which are loaded for all listed rows in one query, and a card for the
 * page of a row.
 */
export type Figures<C extends PageContext> = {
  columns: () => readonly Column[];
  cells: (context: C, rows: readonly View[]) => Promise<(row: View) => Cell[]>;
  card: (context: C, view: View) => Promise<Html>;
};

/**
 * Part of a row's values that is edited in a form of its own. While the section is closed, its page shows a summary of
 * the values.
 */
export type Section<C extends PageContext> = {
  /** Value of the query parameter `edit` that opens the section, and the ID of its element. */
  key: string;
  title: MessageKey;
  summary: (context: C, view: View) => Html | Promise<Html>;
  /** Form of the section. If absent, the summary is all there is, with the links in `links`. */
  form?: {
    fields: (form: FormBuilder, context: C, editing: Editing) => Html | Promise<Html>;
    /** Converts the section's form values to the columns that the section changes. */
    read: (fields: Fields, context: C) => Values;
    /** Content shown next to the form. */
    beside?: (context: C, editing: Editing) => Html | Promise<Html>;
  };
  links?: (context: C, view: View) => Html;
};

/**
 * Definition of a resource's dashboard pages: a list, and a form to create, change and remove rows. Labels are message
 * keys that are translated for each request.
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
  /** List filters in addition to the text search, with their query parameter names. */
  filters?: { names: readonly string[]; fields: (context: C) => Promise<Html> };
  nameOf: (row: View) => string;
  /** Converts row values to form values. */
  toForm?: (values: Values, context: C) => FormValues;
  /** Converts form values to row values. */
  read: (fields: Fields, context: C) => Values;
  /** Maps validation errors of row values to the form fields that display them. */
  errorsToForm?: (errors: FieldErrors, fields: Fields) => FieldErrors;
  fields: (form: FormBuilder, context: C, editing: Editing) => Html | Promise<Html>;
  /** Sections of the page of an existing row. If absent, the page contains one form with all fields. */
  sections?: readonly Section<C>[];
  /**
   * Names of hidden fields with stored values. After an edit conflict, the form gets the current ones, so that a
   * section overwrites no other section.
   */
  storedFields?: readonly string[];
  /** Content shown next to the form, such as a preview. */
  beside?: (context: C, editing: Editing) => Html | Promise<Html>;
  /** State of an existing row, shown above its sections unless one is open. */
  overview?: (context: C, view: View) => Promise<Html>;
  /** Content shown above the form of an existing row, or above its sections. */
  notice?: (context: C, view: View) => Promise<Html>;
  /** Content shown below the form of an existing row, or below its sections unless one is open. */
  below?: (context: C, view: View) => Html | Promise<Html>;
  /** Buttons shown next to the title of an existing row. */
  actions?: (context: C, view: View) => Html;
  /** Additional scripts and styles. If `preview.js` is included, `beside` is updated with the current form values. */
  assets?: readonly AssetName[];
  /** Pages that replace the form for a new row, such as a wizard, and the handler of their forms. */
  creation?: {
    show: (context: C) => Promise<PageResult>;
    submit: (context: C, fields: Fields) => Promise<PageResult>;
  };
  /** Returns a page to show instead of the form for a new row, or null if a row can be created. */
  blocked?: (context: C) => Promise<Html | null>;
  /** Initial values of a new row that differ from the resource's defaults. */
  initial?: (context: C) => Values;
  /** Creates a row from a form with an optional uploaded file. By default, only the form values are used. */
  create?: (context: C, values: Values, upload: Upload | null) => Promise<View>;
  /** Returns the page to show after a row was created. Default: a redirect to the new row's page. */
  afterCreate?: (context: C, view: View) => PageResult | Promise<PageResult>;
  removable?: boolean;
  /** Whether a change can be undone with the previous values in the audit log. */
  undoable?: boolean;
  /** Bulk actions for selected rows in the list, in addition to removal. */
  bulk?: readonly BulkAction[];
};

export type BulkAction = {
  name: string;
  /** Button text. */
  text: MessageKey;
  /** Label for the text field next to the button, if the action has one. */
  field?: MessageKey;
  /** Success message. Its placeholder `{things}` is replaced with a count and noun, as in "3 campaigns paused." */
  done: MessageKey;
  /** Returns the fields of a row to change. `typed` is the content of the text field. */
  change: (row: View, typed: string) => Values;
  /** Name of the action that reverses this one. */
  undoneBy: string;
  /** Whether the action only reverses another one. Such an action has no button. */
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

/** Converts row values to the values of the row's form. */
export const toFormValues = <C extends PageContext>({ toForm }: Crud<C>, context: C, values: Values): FormValues =>
  toForm?.(values, context) ?? (values as FormValues);

/** Whether removed rows can be restored. */
export const isRestorableKind = <C extends PageContext>({ resource, removable }: Crud<C>): boolean =>
  removable !== false && resource.removedAt === 'deleted_at';

/** Breadcrumbs for the page of a row. */
export const trailOf = <C extends PageContext>(crud: Crud<C>, context: C): { text: string; href: string }[] => [
  { text: t(crud.title), href: listPath(crud, context) },
];

/** Noun for rows of the resource, such as "campaign". Plural ("campaigns") unless `count` is 1. */
export const nounOf = ({ noun }: Resource, count = 1): string =>
  t(`nouns.${noun.replaceAll(' ', '_')}` as MessageKey, { count });
