import { isDeepStrictEqual } from 'node:util';
import { defaultsOf, type Resource, type Values, type View } from '../../catalog/management/resource.ts';
import { etagOf, PreconditionFailed } from '../../catalog/management/rows.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { mayAct, type Role } from '../auth/users.ts';
import type { AssetName } from './assets.ts';
import { actionButton, type Column, emptyState, linkButton, pager, saveForm, table } from './components.ts';
import type { Context } from './context.ts';
import { createForm, type Fields, type FormBuilder, type FormValue, type Problems, problemsOf } from './forms.ts';
import type { IconName } from './icons.ts';
import type { NavKey, Page } from './layout.ts';
import { keyIn, queryText, type Store } from './management.ts';
import type { Outcome, Pages } from './pages.ts';

/** What an editing page knows of the row it shows; `view` null: it is not made yet. */
export type Editing = { view: View | null; values: Values };

/** The pages of one kind of row: a list, and a form that makes, changes and removes one. */
export type Crud<C extends Context> = {
  resource: Resource;
  /** Below the prefix of the pages. */
  path: string;
  nav: NavKey;
  icon: IconName;
  title: string;
  lead: string;
  /** With its article: "an offer". */
  one: string;
  reads?: Role;
  writes: Role;
  columns: readonly Column[];
  cells: (context: C, row: View) => Promise<(Html | string | number)[]> | (Html | string | number)[];
  empty: { title: string; text: string };
  /** Beside the search of the list. */
  filters?: (context: C) => Html | Promise<Html>;
  /** Parameters of the list that come from the query. */
  filterNames?: readonly string[];
  nameOf: (row: View) => string;
  /** A row's values as those of the form's fields. */
  toForm?: (values: Values, context: C) => Record<string, FormValue>;
  /** What was typed, as the values of a row. */
  read: (fields: Fields, context: C) => Values;
  fields: (form: FormBuilder, context: C, editing: Editing) => Html | Promise<Html>;
  /** Beside the form, such as a preview. */
  beside?: (context: C, editing: Editing) => Html | Promise<Html>;
  /** Above the form of a row that is there. */
  notice?: (context: C, view: View) => Promise<Html>;
  /** Below the form of a row that is there. */
  below?: (context: C, view: View) => Html | Promise<Html>;
  /** Beside the title of a row that is there. */
  actions?: (context: C, view: View) => Html;
  assets?: readonly AssetName[];
  /** Why none can be made yet, and what to do first. */
  blocked?: (context: C) => Promise<Html | null>;
  /** Other values a new one begins with. */
  initial?: (context: C) => Values;
  /** Where to go once one is made; default: its own page. */
  afterCreate?: (context: C, view: View) => Outcome;
  removable?: boolean;
  removeText?: string;
  creatable?: boolean;
};

/** A page of a list with its cursor. */
const listed = 50;

export function crudPages<C extends Context>(pages: Pages<C>, store: Store, crud: Crud<C>): void {
  const { resource, path, reads = 'analyst', writes } = crud;
  const keyOf = (view: View): string => encodeURIComponent(String(view[resource.key]));
  const listPath = (context: C): string => context.path(path);
  const rowPath = (context: C, view: View): string => context.path(`${path}/${keyOf(view)}`);
  const trail = (context: C) => [{ text: crud.title, href: listPath(context) }];
  const mayWrite = (context: C): boolean => mayAct(context.viewer.user.role, writes);

  pages.get(path, reads, async (context) => {
    const q = queryText(context, 'q');
    const cursor = queryText(context, 'cursor');
    const filters = Object.fromEntries(
      (crud.filterNames ?? []).map((name) => [name, queryText(context, name)]).filter(([, value]) => value !== ''),
    );
    const query = { limit: String(listed), ...(q !== '' && { q }), ...(cursor !== '' && { cursor }), ...filters };
    const { rows, nextCursor } = await store.list(context, resource, query);
    const isFiltered = q !== '' || Object.keys(filters).length > 0;
    const add =
      mayWrite(context) && crud.creatable !== false
        ? linkButton(`${listPath(context)}/new`, `Add ${crud.one}`, 'main')
        : nothing;
    const after =
      nextCursor === null
        ? null
        : `${listPath(context)}?${new URLSearchParams({ ...filters, ...(q !== '' && { q }), cursor: nextCursor })}`;
    const cells = await Promise.all(rows.map((row) => crud.cells(context, row)));
    return {
      title: crud.title,
      lead: crud.lead,
      nav: crud.nav,
      actions: add,
      body:
        rows.length === 0 && !isFiltered && cursor === ''
          ? emptyState(crud.icon, crud.empty.title, crud.empty.text, add)
          : html`<form class="filters" method="get" action="${listPath(context)}" role="search">${resource.searched.length === 0 ? nothing : createForm({ q }).input('q', { label: 'Search' })}${crud.filters === undefined ? nothing : await crud.filters(context)}<button class="button">Show</button></form>
${rows.length === 0 ? html`<p class="hint">Nothing matches.</p>` : table(crud.title, crud.columns, cells)}
${pager(cursor === '' ? null : listPath(context), after)}`,
    };
  });

  if (crud.creatable !== false) {
    pages.get(`${path}/new`, writes, async (context) => {
      const blocked = (await crud.blocked?.(context)) ?? null;
      if (blocked !== null)
        return { title: `New ${resource.noun}`, nav: crud.nav, trail: trail(context), body: blocked };
      return edit(context, { view: null, values: { ...defaultsOf(resource), ...crud.initial?.(context) } });
    });
    pages.post(path, writes, async (context, fields) => {
      const given = crud.read(fields, context);
      try {
        const view = await store.create(context, resource, given);
        return (
          crud.afterCreate?.(context, view) ?? { to: rowPath(context, view), done: `${crud.nameOf(view)} is saved.` }
        );
      } catch (err) {
        return edit(context, { view: null, values: { ...defaultsOf(resource), ...given } }, problemsOf(err));
      }
    });
  }

  pages.get(`${path}/:key`, reads, async (context) => {
    const view = await store.get(context, resource, keyIn(context));
    return edit(context, { view, values: view });
  });

  pages.post(`${path}/:key`, writes, async (context, fields) => {
    const given = crud.read(fields, context);
    try {
      const view = await store.update(context, resource, keyIn(context), given, fields.text('_version') || null);
      return { to: rowPath(context, view), done: `${crud.nameOf(view)} is saved.` };
    } catch (err) {
      if (err instanceof PreconditionFailed) {
        const theirs = err.current;
        return edit(context, { view: theirs, values: { ...theirs, ...given } }, [], conflict(theirs, given));
      }
      const problems = problemsOf(err);
      const view = await store.get(context, resource, keyIn(context));
      return edit(context, { view, values: { ...view, ...given } }, problems, nothing, fields.text('_version'));
    }
  });

  if (crud.removable !== false)
    pages.post(`${path}/:key/remove`, writes, async (context) => {
      try {
        const view = await store.remove(context, resource, keyIn(context));
        return { to: listPath(context), done: `${crud.nameOf(view)} is removed.` };
      } catch (err) {
        const [problem] = problemsOf(err);
        return {
          to: context.path(`${path}/${encodeURIComponent(keyIn(context))}`),
          failed: `Not removed: it ${problem?.message ?? 'is in use'}.`,
        };
      }
    });

  async function edit(
    context: C,
    editing: Editing,
    problems: Problems = [],
    notice: Html = nothing,
    version?: string,
  ): Promise<Page> {
    const { view, values } = editing;
    const form = createForm(crud.toForm?.(values, context) ?? (values as Record<string, FormValue>), problems);
    const fields = await crud.fields(form, context, editing);
    const to = view === null ? listPath(context) : rowPath(context, view);
    const hidden =
      view === null ? nothing : html`<input type="hidden" name="_version" value="${version || etagOf(view)}">`;
    const beside = crud.beside === undefined ? nothing : await crud.beside(context, editing);
    const body = html`${notice}${form.summary()}${hidden}${fields}`;
    const main = mayWrite(context)
      ? html`<section class="card">${saveForm(context, to, body, { cancel: listPath(context), attributes: crud.beside === undefined ? nothing : html`data-previewed` })}</section>`
      : html`<section class="card"><form class="form" data-previewed><fieldset class="plain" disabled>${fields}</fieldset></form></section>`;
    return {
      title: view === null ? `New ${resource.noun}` : crud.nameOf(view),
      nav: crud.nav,
      trail: trail(context),
      status: problems.length > 0 ? 422 : notice === nothing ? 200 : 409,
      ...(crud.assets !== undefined && { assets: crud.assets }),
      actions:
        view === null
          ? nothing
          : html`${crud.actions?.(context, view) ?? nothing}${crud.removable !== false && mayWrite(context) ? removeButton(context, view) : nothing}`,
      body: html`${view === null || crud.notice === undefined ? nothing : await crud.notice(context, view)}${crud.beside === undefined ? main : html`<div class="split"><div>${main}</div>${beside}</div>`}${view === null || crud.below === undefined ? nothing : await crud.below(context, view)}`,
    };
  }

  const removeButton = (context: C, view: View): Html =>
    actionButton(context, {
      to: `${rowPath(context, view)}/remove`,
      text: crud.removeText ?? 'Remove',
      kind: 'danger',
      confirm: `${crud.nameOf(view)} is removed. Links shown before stay good.`,
    });
}

/** Says that somebody else was faster, and how what they saved differs from what is typed. */
function conflict(theirs: View, given: Values): Html {
  const differing = Object.entries(given).filter(([name, value]) => !isDeepStrictEqual(value, theirs[name]));
  const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return html`<div class="notice warn" role="alert" tabindex="-1" data-focus><p><strong>Somebody else saved this while you were editing.</strong> Below is what you typed. Save again to put it in place of theirs, or load the page anew to keep theirs.</p></div>
${table(
  'What differs',
  [{ text: 'Field' }, { text: 'Stored now' }, { text: 'Yours' }],
  differing.map(([name, value]) => [name.replaceAll('_', ' '), shown(theirs[name]), shown(value)]),
)}`;
}
