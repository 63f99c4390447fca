import { html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type Cell, type Column, emptyState, linkButton, noMatches, pager, table } from '../../shell/components.ts';
import { type PageContext, queryText } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { type Crud, type CrudPages, canWrite, isRestorableKind, listPath, nounOf } from '../crud-definition.ts';
import type { View } from '../resource.ts';
import { bulkForm, selectBox } from './bulk.ts';

const rowsPerPage = 50;

/** Renders the list page with search, filters and pagination. */
export async function listPage<C extends PageContext>({ crud, management }: CrudPages<C>, context: C): Promise<Page> {
  const { resource } = crud;
  const title = t(crud.title);
  const path = listPath(crud, context);
  const cursor = queryText(context, 'cursor');
  const names = [...(resource.searched.length === 0 ? [] : ['q']), ...(crud.filters?.names ?? [])];
  const filter = Object.fromEntries(
    names.map((name) => [name, queryText(context, name)]).filter(([, value]) => value !== ''),
  );
  const { rows, nextCursor } = await management.list(context, resource, {
    limit: String(rowsPerPage),
    ...filter,
    ...(cursor !== '' && { cursor }),
  });
  const writable = canWrite(crud, context);
  const add = writable ? linkButton(`${path}/new`, t('crud.add', { noun: nounOf(resource) }), 'main') : nothing;
  const removed = isRestorableKind(crud) ? linkButton(`${path}/removed`, t('crud.removedList'), 'quiet') : nothing;
  const next = nextCursor === null ? null : `${path}?${new URLSearchParams({ ...filter, cursor: nextCursor })}`;
  const isEmpty = rows.length === 0 && Object.keys(filter).length === 0 && cursor === '';
  const list = async () => {
    const { columns, cells } = await columnsOf(crud, context, rows);
    if (!writable || crud.bulk === undefined) return table(title, columns, cells);
    const box = (index: number): Cell => {
      const row = rows[index] as View;
      return selectBox(row[resource.key], crud.nameOf(row));
    };
    return html`
      ${bulkForm(crud, context)}
      ${table(
        title,
        [{ text: t('common.select'), hidden: true }, ...columns],
        cells.map((row, index) => [box(index), ...row]),
      )}`;
  };
  return {
    title,
    lead: t(crud.lead),
    nav: crud.nav,
    actions: html`${removed}${add}`,
    body: isEmpty
      ? emptyState(crud.icon, t(crud.empty.title), t(crud.empty.text), add)
      : html`
        <form class="filters" method="get" action="${path}" role="search">
          ${resource.searched.length > 0 && createForm({ q: filter.q ?? '' }).input('q', { label: t('common.search') })}
          ${await crud.filters?.fields(context)}
          <button class="button">${t('common.apply')}</button>
        </form>
        ${rows.length === 0 ? noMatches() : await list()}
        ${pager(cursor === '' ? null : path, next)}`,
  };
}

/**
 * Returns the list columns with their cells. Statistics columns come last, but before a final column without a heading,
 * such as the one for row buttons.
 */
async function columnsOf<C extends PageContext>(
  crud: Crud<C>,
  context: C,
  rows: readonly View[],
): Promise<{ columns: readonly Column[]; cells: Cell[][] }> {
  const own = crud.columns();
  const cells = rows.map((row) => crud.cells(context, row));
  if (crud.figures === undefined || rows.length === 0) return { columns: own, cells };
  const { columns, cells: read } = crud.figures;
  const figuresOf = await read(context, rows);
  const at = own.length - (own.at(-1)?.hidden === true ? 1 : 0);
  return {
    columns: own.toSpliced(at, 0, ...columns()),
    cells: cells.map((list, index) => list.toSpliced(at, 0, ...figuresOf(rows[index] as View))),
  };
}
