import { AppError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { csrfField } from '../../shell/actions.ts';
import type { Cell } from '../../shell/components.ts';
import { type Fields, fieldErrorsOf, type PageContext, viewerOf } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import type { PageResult } from '../../shell/pages.ts';
import { type BulkAction, type Crud, type CrudPages, listPath, nounOf } from '../crud-definition.ts';
import type { View } from '../resource.ts';
import { getRow, removeRow, updateRow } from '../rows.ts';

const formId = 'bulk';
const removeAction = 'remove';

/** The box that selects a row of the list; it belongs to the form of {@link bulkForm}. */
export const selectBox = (key: unknown, name: string): Cell => html`
  <input type="checkbox" name="key" value="${String(key)}" form="${formId}"
    aria-label="${t('common.selectLabel', { name })}">`;

/** Buttons for the selected rows of a list. */
export function bulkForm<C extends PageContext>(crud: Crud<C>, context: C): Html {
  const button = ({ name, text, field }: BulkAction): Html => {
    const press = html`<button class="button small" name="action" value="${name}">${t(text)}</button>`;
    return field === undefined ? press : html`<span>${createForm({}).input(name, { label: t(field) })}${press}</span>`;
  };
  return html`
    <form class="bulk" id="${formId}" method="post" action="${listPath(crud, context)}/bulk" data-keep>
      ${csrfField(viewerOf(context.request))}
      <label><input type="checkbox" data-select-all="key"> ${t('crud.selectAll')}</label>
      ${(crud.bulk ?? []).map(button)}
      <button class="button small danger" name="action" value="${removeAction}"
        data-confirm="${t('crud.removeSelected', { nouns: nounOf(crud.resource, 2) })}"
        data-confirm-button="${t('common.remove')}">${t('common.remove')}</button>
    </form>`;
}

/** Does the same to all selected rows, or to none where one of them cannot be changed. */
export async function changeSelected<C extends PageContext>(
  { crud, management }: CrudPages<C>,
  context: C,
  fields: Fields,
): Promise<PageResult> {
  const { resource } = crud;
  const keys = [...new Set(fields.all('key'))];
  const name = fields.text('action');
  const action = crud.bulk?.find((one) => one.name === name);
  const to = listPath(crud, context);
  if (action === undefined && name !== removeAction) throw new AppError('not_found');
  if (keys.length === 0) return { to, failed: t('crud.selectFirst', { nouns: nounOf(resource, 2) }) };
  let failing: View | null = null;
  try {
    await management.write(context, async (work) => {
      for (const key of keys.sort()) {
        failing = await getRow(resource, work, key);
        if (action === undefined) await removeRow(resource, work, key, null);
        else {
          const change = action.change(failing, fields.text(action.name));
          await updateRow(resource, work, key, change, { ifMatch: null, replace: false });
        }
      }
    });
  } catch (err) {
    const [error] = fieldErrorsOf(err);
    const why = error?.message ?? t('crud.cannotBeChanged');
    const reason = failing === null ? why : t('crud.rowReason', { name: crud.nameOf(failing), reason: why });
    return { to, failed: t('crud.notChanged', { reason }) };
  }
  const things = t('crud.things', { count: keys.length, nouns: nounOf(resource, keys.length) });
  return { to, done: t(action?.done ?? 'crud.removedThings', { things }) };
}
