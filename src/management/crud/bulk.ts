import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { type MessageKey, t } from '../../platform/i18n/messages.ts';
import { type Cell, csrfField } from '../../shell/components.ts';
import { type Fields, type PageContext, reasonOf, viewerOf } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import type { PageResult } from '../../shell/pages.ts';
import { type BulkAction, type Crud, type CrudPages, isRestorableKind, listPath, nounOf } from '../crud-definition.ts';
import type { View } from '../resource.ts';
import { restoreRow } from '../restore.ts';
import { getRow, removeRow, updateRow } from '../rows.ts';
import type { Work } from '../unit-of-work.ts';

const formId = 'bulk';
const removeAction = 'remove';
const restoreAction = 'restore';
/** Name of the text field next to a bulk action button. */
const typedField = 'typed';

/** Checkbox that selects a list row. It belongs to the form rendered by {@link bulkForm}. */
export const selectBox = (key: unknown, name: string): Cell => html`
  <input type="checkbox" name="key" value="${String(key)}" form="${formId}"
    aria-label="${t('common.selectLabel', { name })}">`;

/** Renders the bulk action buttons for the selected list rows. */
export function bulkForm<C extends PageContext>(crud: Crud<C>, context: C): Html {
  const button = ({ name, text, field }: BulkAction): Html => {
    const press = html`<button class="button small" name="action" value="${name}">${t(text)}</button>`;
    if (field === undefined) return press;
    return html`<span>${createForm({}).input(typedField, { label: t(field) })}${press}</span>`;
  };
  return html`
    <form class="bulk" id="${formId}" method="post" action="${listPath(crud, context)}/bulk" data-keep>
      ${csrfField(viewerOf(context.request))}
      <label><input type="checkbox" data-select-all="key"> ${t('crud.selectAll')}</label>
      ${(crud.bulk ?? []).filter(({ isUndo }) => isUndo !== true).map(button)}
      <button class="button small danger" name="action" value="${removeAction}"
        data-confirm="${t('crud.removeSelected', { nouns: nounOf(crud.resource, 2) })}"
        data-confirm-button="${t('common.remove')}">${t('common.remove')}</button>
    </form>`;
}

/**
 * Bulk action on one of the selected rows. `run` resolves to whether the row changed. It first passes the row to
 * `failing`, so that an error message can name the row.
 */
type Step = {
  done: MessageKey;
  /** Name of the action that reverses this one, or null if none exists. */
  undoneBy: string | null;
  run: (work: Work, key: string, failing: (row: View) => void) => Promise<boolean>;
};

function stepOf<C extends PageContext>(crud: Crud<C>, name: string, typed: string): Step | null {
  const { resource } = crud;
  if (name === removeAction)
    return {
      done: 'crud.removedThings',
      undoneBy: isRestorableKind(crud) ? restoreAction : null,
      run: async (work, key, failing) => {
        failing(await getRow(resource, work, key));
        await removeRow(resource, work, key, null);
        return true;
      },
    };
  if (name === restoreAction && isRestorableKind(crud))
    return {
      done: 'crud.restoredThings',
      undoneBy: null,
      run: async (work, key) => {
        await restoreRow(resource, work, key);
        return true;
      },
    };
  const action = crud.bulk?.find((bulkAction) => bulkAction.name === name);
  if (action === undefined) return null;
  return {
    ...action,
    run: async (work, key, failing) => {
      const row = await getRow(resource, work, key);
      failing(row);
      const change = action.change(row, typed);
      await updateRow(resource, work, key, change, { ifMatch: null, replace: false });
      return Object.entries(change).some(([field, value]) => !isDeepStrictEqual(value, row[field]));
    },
  };
}

/** Applies an action to all selected rows in one transaction. If any row cannot be changed, none are. */
export async function changeSelected<C extends PageContext>(
  { crud, management }: CrudPages<C>,
  context: C,
  fields: Fields,
): Promise<PageResult> {
  const { resource } = crud;
  const keys = [...new Set(fields.all('key'))].sort();
  const typed = fields.text(typedField);
  const step = stepOf(crud, fields.text('action'), typed);
  const to = listPath(crud, context);
  if (step === null) throw new AppError('not_found');
  if (keys.length === 0) return { to, failed: t('crud.selectFirst', { nouns: nounOf(resource, 2) }) };
  let failing: View | null = null;
  const changed = new Set<string>();
  try {
    await management.write(context, async (work) => {
      for (const key of keys)
        if (
          await step.run(work, key, (row) => {
            failing = row;
          })
        )
          changed.add(key);
    });
  } catch (err) {
    const why = reasonOf(err);
    const reason = failing === null ? why : t('crud.rowReason', { name: crud.nameOf(failing), reason: why });
    return { to, failed: t('crud.notChanged', { reason }) };
  }
  const things = t('crud.things', { count: keys.length, nouns: nounOf(resource, keys.length) });
  const undo = { to: `${to}/bulk`, values: { action: step.undoneBy ?? '', [typedField]: typed, key: [...changed] } };
  return { to, done: t(step.done, { things }), ...(step.undoneBy !== null && changed.size > 0 && { undo }) };
}
