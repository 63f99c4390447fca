import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, emptyState, linkButton, pager, table } from '../../shell/components.ts';
import { keyIn, type PageContext, queryText, reasonOf } from '../../shell/context.ts';
import { moment, utc } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { type Crud, type CrudPages, canWrite, listPath, nounOf, rowPath, trailOf } from '../crud-definition.ts';
import type { View } from '../resource.ts';
import { isRestorable, restorableDays } from '../restore.ts';

const rowsPerPage = 50;

/** Renders the page that lists removed rows with restore buttons, most recently removed first. */
export async function removedPage<C extends PageContext>(
  { crud, management }: CrudPages<C>,
  context: C,
): Promise<Page> {
  const cursor = queryText(context, 'cursor');
  const path = `${listPath(crud, context)}/removed`;
  const { rows, nextCursor } = await management.list(context, crud.resource, {
    limit: String(rowsPerPage),
    removed: 'true',
    sort: '-updated_at',
    ...(cursor !== '' && { cursor }),
  });
  const restore = (row: View) =>
    actionButton(context, { to: `${rowPath(crud, context, row)}/restore`, text: t('crud.restore'), small: true });
  const cells = rows.map((row) => [
    html`
      <strong>${crud.nameOf(row)}</strong><br>
      <span class="hint">${t('crud.id', { id: String(row[crud.resource.key]) })}</span>`,
    moment(context.request.viewedPublisher ?? utc, String(row.deleted_at)),
    canWrite(crud, context) && isRestorable(row, management.now()) ? restore(row) : '',
  ]);
  const next = nextCursor === null ? null : `${path}?${new URLSearchParams({ cursor: nextCursor })}`;
  const columns = [
    { text: t('common.name') },
    { text: t('crud.removedList') },
    { text: t('common.actions'), hidden: true },
  ];
  return {
    title: t('crud.removedTitle', { nouns: nounOf(crud.resource, 2) }),
    ...(rows.length > 0 && { lead: t('crud.removedLead', { days: restorableDays }) }),
    nav: crud.nav,
    trail: trailOf(crud, context),
    body: html`
      ${rows.length === 0 ? nothingRemoved(crud, context) : table(t('crud.removedList'), columns, cells)}
      ${pager(cursor === '' ? null : path, next)}`,
  };
}

const nothingRemoved = <C extends PageContext>(crud: Crud<C>, context: C): Html =>
  emptyState(
    crud.icon,
    t('crud.nothingRemoved'),
    t('crud.removedLead', { days: restorableDays }),
    linkButton(listPath(crud, context), t(crud.title)),
  );

export async function restore<C extends PageContext>(
  { crud, management }: CrudPages<C>,
  context: C,
): Promise<PageResult> {
  try {
    const view = await management.restore(context, crud.resource, keyIn(context));
    return { to: rowPath(crud, context, view), done: t('crud.restored', { name: crud.nameOf(view) }) };
  } catch (err) {
    return { to: `${listPath(crud, context)}/removed`, failed: t('crud.notRestored', { reason: reasonOf(err) }) };
  }
}
