import type { Html } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import type { AssetName } from '../shell/assets.ts';
import type { Cell, Column } from '../shell/components.ts';
import { type FieldErrors, type Fields, hasRole, type PageContext, type Role } from '../shell/context.ts';
import type { FormBuilder, FormValues } from '../shell/forms.ts';
import type { IconName } from '../shell/icons.ts';
import type { PageResult } from '../shell/pages.ts';
import type { Upload } from '../shell/uploads.ts';
import type { ManagementClient } from './page-client.ts';
import type { Resource, Values, View } from './resource.ts';
import type { Work } from './unit-of-work.ts';

/** The row of an edit page; `view` null: a new one. */
export type Editing = { view: View | null; values: Values };

/** Figures that are not the row's own: columns of the list, read at once for all its rows, and a card on its page. */
export type Figures<C extends PageContext> = {
  columns: readonly Column[];
  cells: (context: C, rows: readonly View[]) => Promise<(row: View) => Cell[]>;
  card: (context: C, view: View) => Promise<Html>;
};

/**
 * The pages of one resource: a list, and a form that creates, changes and removes a row. Its texts are getters, such as
 * `get title() { return t('campaigns.title'); }`: each request reads them in its own language.
 */
export type Crud<C extends PageContext> = {
  resource: Resource;
  /** Below the prefix of the pages. */
  path: string;
  nav: string;
  icon: IconName;
  title: string;
  lead: string;
  reads?: Role;
  writes: Role;
  columns: readonly Column[];
  cells: (context: C, row: View) => Cell[];
  figures?: Figures<C>;
  empty: { title: string; text: string };
  /** Filters beside the search of the list. */
  filters?: (context: C) => Promise<Html>;
  /** Query parameters of the filters. */
  filterNames?: readonly string[];
  nameOf: (row: View) => string;
  /** Converts a row's values to form values. */
  toForm?: (values: Values, context: C) => FormValues;
  /** Converts form values to a row's values. */
  read: (fields: Fields, context: C) => Values;
  /** Puts errors of a row's values to the fields that show them. */
  errorsToForm?: (errors: FieldErrors, fields: Fields) => FieldErrors;
  fields: (form: FormBuilder, context: C, editing: Editing) => Html | Promise<Html>;
  /** Shown beside the form, such as a preview. */
  beside?: (context: C, editing: Editing) => Html | Promise<Html>;
  /** Whether `beside` shows what is typed (`preview.js`). */
  previewed?: boolean;
  /** Shown above the form of an existing row. */
  notice?: (context: C, view: View) => Promise<Html>;
  /** Shown below the form of an existing row. */
  below?: (context: C, view: View) => Html | Promise<Html>;
  /** Buttons beside the title of an existing row. */
  actions?: (context: C, view: View) => Html;
  assets?: readonly AssetName[];
  /** The page instead of the form of a new row, where one cannot be created yet. */
  blocked?: (context: C) => Promise<Html | null>;
  /** Values of a new row other than the resource's defaults. */
  initial?: (context: C) => Values;
  /** Creates a row of a form that may have a file; absent: of its values alone. */
  create?: (context: C, values: Values, upload: Upload | null) => Promise<View>;
  /** Default: redirects to the page of the new row. */
  afterCreate?: (context: C, view: View) => PageResult | Promise<PageResult>;
  removable?: boolean;
  /** Whether what was saved can be taken back: the audit log has all values before. */
  undoable?: boolean;
  /** Copies a row; without it there is no such button. */
  duplicate?: (work: Work, key: string) => Promise<View>;
  /** What can be done to several rows of the list at once, beside removing them. */
  bulk?: readonly BulkAction[];
};

export type BulkAction = {
  name: string;
  /** Of the button. */
  text: MessageKey;
  /** Label of the text field beside the button; absent: it needs none. */
  field?: MessageKey;
  /** What is said of the `{things}` it was done to, such as "3 campaigns paused." */
  done: MessageKey;
  /** The fields that change. `typed`: the text field. */
  change: (row: View, typed: string) => Values;
  /** Name of the action that takes it back. */
  undoneBy: string;
  /** Has no button: it takes back another. */
  isUndo?: true;
};

/** For kinds with a field `active`. */
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

/** What the functions behind the routes of one resource share. */
export type CrudPages<C extends PageContext> = { crud: Crud<C>; management: ManagementClient };

export const listPath = <C extends PageContext>({ path }: Crud<C>, context: C): string => context.path(path);

export const rowPath = <C extends PageContext>({ path, resource }: Crud<C>, context: C, view: View): string =>
  context.path(`${path}/${encodeURIComponent(String(view[resource.key]))}`);

export const canWrite = <C extends PageContext>({ writes }: Crud<C>, { viewer }: C): boolean =>
  hasRole(viewer.user.role, writes);

/** Whether removed rows can be brought back. */
export const isRestorableKind = <C extends PageContext>({ resource, removable }: Crud<C>): boolean =>
  removable !== false && resource.removedAt === 'deleted_at';

/** Breadcrumbs of a row's page. */
export const trailOf = <C extends PageContext>(crud: Crud<C>, context: C): { text: string; href: string }[] => [
  { text: crud.title, href: listPath(crud, context) },
];

/** What a row is called, such as "campaign"; for more than one, "campaigns". */
export const nounOf = ({ noun }: Resource, count = 1): string =>
  t(`nouns.${noun.replaceAll(' ', '_')}` as MessageKey, { count });
