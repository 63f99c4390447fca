import { AppError } from '../platform/errors.ts';
import { html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { notice } from '../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  fieldErrorsOf,
  fieldsOf,
  keyIn,
  type PageContext,
  reasonOf,
  rowsField,
} from '../shell/context.ts';
import { fieldName } from '../shell/format.ts';
import type { Page } from '../shell/layout.ts';
import type { PageResult, Pages, Upload } from '../shell/pages.ts';
import { versionField, withRowChange, withStored } from '../shell/row-list.ts';
import { ApprovalRequired } from './approval.ts';
import { changeSelected } from './crud/bulk.ts';
import { listPage } from './crud/list.ts';
import { removedPage, restore } from './crud/removed.ts';
import {
  type Crud,
  type CrudPages,
  isRestorableKind,
  listPath,
  nounOf,
  rowPath,
  toFormValues,
  trailOf,
} from './crud-definition.ts';
import { conflictNotice, editorPage, newRowPage, type Refused } from './crud-editor.ts';
import { openSection, sectionParameter, sectionsPage } from './crud-sections.ts';
import type { ManagementClient } from './page-client.ts';
import { defaultsOf, type Values, type View } from './resource.ts';
import { undoChange } from './restore.ts';
import { PreconditionFailed, updateRow } from './rows.ts';

/** Registers the dashboard pages of a resource. */
export function crudPages<C extends PageContext>(pages: Pages<C>, management: ManagementClient, crud: Crud<C>): void {
  const all: CrudPages<C> = { crud, management };
  const { path, resource, reads = 'analyst', writes } = crud;
  pages.get(path, reads, (context) => listPage(all, context));
  pages.get(`${path}/new`, writes, async (context) => {
    if (crud.creation !== undefined) return crud.creation.show(context);
    const blocked = (await crud.blocked?.(context)) ?? null;
    if (blocked === null) return newRowPage(crud, context, crud.initial?.(context));
    return {
      title: t('crud.new', { noun: nounOf(resource) }),
      nav: crud.nav,
      trail: trailOf(crud, context),
      body: blocked,
    };
  });
  pages.post(
    path,
    writes,
    (context, fields, upload) => crud.creation?.submit(context, fields) ?? create(all, context, fields, upload),
  );
  if (isRestorableKind(crud)) {
    pages.get(`${path}/removed`, reads, (context) => removedPage(all, context));
    pages.post(`${path}/:key/restore`, writes, (context) => restore(all, context));
  }
  if (crud.bulk !== undefined)
    pages.post(`${path}/bulk`, writes, (context, fields) => changeSelected(all, context, fields));
  pages.get(`${path}/:key`, reads, async (context) => {
    const view = await management.get(context, resource, keyIn(context));
    return rowPage(crud, context, { view, values: view });
  });
  pages.post(`${path}/:key`, writes, (context, fields) => update(all, context, fields));
  if (crud.undoable === true) pages.post(`${path}/:key/undo`, writes, (context, fields) => undo(all, context, fields));
  if (crud.removable !== false) pages.post(`${path}/:key/remove`, writes, (context) => remove(all, context));
}

/** Renders the page of a row: its sections, or one form with all fields. */
const rowPage = <C extends PageContext>(
  crud: Crud<C>,
  context: C,
  editing: { view: View; values: Values },
  refused?: Refused,
): Promise<Page> => (crud.sections === undefined ? editorPage : sectionsPage)(crud, context, editing, refused);

async function create<C extends PageContext>(
  { crud, management }: CrudPages<C>,
  context: C,
  submitted: Fields,
  upload: Upload | null,
): Promise<PageResult> {
  const fields = withStored(submitted, toFormValues(crud, context, defaultsOf(crud.resource)));
  const values = crud.read(fields, context);
  if (fields.checked(rowsField)) return newRowPage(crud, context, values, { typed: withRowChange(fields.values) });
  try {
    const view = await (crud.create?.(context, values, upload) ?? management.create(context, crud.resource, values));
    const saved = { to: rowPath(crud, context, view), done: t('crud.saved', { name: crud.nameOf(view) }) };
    const result = (await crud.afterCreate?.(context, view)) ?? saved;
    const isUndoable = crud.undoable === true && isRestorableKind(crud);
    return isUndoable ? { ...result, undo: { to: `${rowPath(crud, context, view)}/remove` } } : result;
  } catch (err) {
    if (err instanceof ApprovalRequired) return proposed(management, context, err);
    const refused = { errors: errorsIn(crud, err, fields), typed: fields.values };
    return newRowPage(crud, context, values, refused);
  }
}

async function update<C extends PageContext>(
  { crud, management }: CrudPages<C>,
  context: C,
  submitted: Fields,
): Promise<PageResult> {
  const section = openSection(crud, context);
  if (crud.sections !== undefined && section === null) throw new AppError('not_found');
  const read = section?.form.read ?? crud.read;
  const stored = await management.get(context, crud.resource, keyIn(context));
  const fields = withStored(submitted, toFormValues(crud, context, stored));
  const values = read(fields, context);
  const version = fields.text(versionField);
  if (fields.checked(rowsField)) {
    const refused = { typed: withRowChange(fields.values), version };
    return rowPage(crud, context, { view: stored, values: { ...stored, ...values } }, refused);
  }
  try {
    const mode = { ifMatch: version || null, replace: false };
    const entries: string[] = [];
    const view = await management.write(context, (work) =>
      updateRow(crud.resource, { ...work, entries }, keyIn(context), values, mode),
    );
    const entry = crud.undoable === true ? entries.at(-1) : undefined;
    const undo = {
      to: `${rowPath(crud, context, view)}/undo`,
      values: { entry: entry ?? '', [sectionParameter]: section?.key ?? '' },
    };
    return {
      ...placed(crud, context, view, section?.key),
      done: t('crud.saved', { name: section === null ? crud.nameOf(view) : t(section.title) }),
      ...(entry !== undefined && { undo }),
    };
  } catch (err) {
    if (err instanceof ApprovalRequired) return proposed(management, context, err);
    if (err instanceof PreconditionFailed) {
      const view = err.current;
      const typed = { ...fields.values, ...storedValues(crud, context, view) };
      const values = read(fieldsOf(typed), context);
      const conflict = conflictNotice(view, values);
      return rowPage(crud, context, { view, values: { ...view, ...values } }, { conflict, typed });
    }
    const errors = errorsIn(crud, err, fields);
    const view = await management.get(context, crud.resource, keyIn(context));
    const refused = { errors, version, typed: fields.values };
    return rowPage(crud, context, { view, values: { ...view, ...values } }, refused);
  }
}

/** Returns the page of a row, at the section that was changed, which then shows the message. */
const placed = <C extends PageContext>(crud: Crud<C>, context: C, view: View, section: string | undefined) => {
  const to = rowPath(crud, context, view);
  return section === undefined ? { to } : { to: `${to}#${section}`, at: section };
};

/** Returns the current values of the hidden fields with stored values. */
function storedValues<C extends PageContext>(crud: Crud<C>, context: C, view: View) {
  const stored = toFormValues(crud, context, view);
  return Object.fromEntries((crud.storedFields ?? []).map((name) => [name, stored[name]]));
}

/** Undoes a change that the same user made. */
async function undo<C extends PageContext>(
  { crud, management }: CrudPages<C>,
  context: C,
  fields: Fields,
): Promise<PageResult> {
  const key = keyIn(context);
  try {
    const view = await management.write(context, (work) => undoChange(crud.resource, work, key, fields.text('entry')));
    const section = crud.sections?.find(({ key: name }) => name === fields.text(sectionParameter));
    const name = section === undefined ? crud.nameOf(view) : t(section.title);
    return { ...placed(crud, context, view, section?.key), done: t('crud.undone', { name }) };
  } catch (err) {
    if (err instanceof ApprovalRequired) return proposed(management, context, err);
    if (err instanceof PreconditionFailed) {
      const changed = (err.details ?? []).map(({ path }) => fieldName(path.slice(1))).join(', ');
      const conflict = notice('warn', html`<p>${t('crud.changedSince', { fields: changed })}</p>`);
      return rowPage(crud, context, { view: err.current, values: err.current }, { conflict });
    }
    const failed = t('crud.notChanged', { reason: reasonOf(err) });
    return { to: context.path(`${crud.path}/${encodeURIComponent(key)}`), failed };
  }
}

/** Saves the submitted values as a draft. The live row stays unchanged. */
async function proposed(
  management: ManagementClient,
  context: PageContext,
  refused: ApprovalRequired,
): Promise<PageResult> {
  const { id } = await management.propose(context, refused);
  return { to: context.path(`/drafts/${id}`), done: t('drafts.proposed') };
}

/** Returns the field errors for which a change was rejected. Rethrows any other error. */
function errorsIn<C extends PageContext>(crud: Crud<C>, err: unknown, fields: Fields): FieldErrors {
  const errors = fieldErrorsOf(err);
  return crud.errorsToForm?.(errors, fields) ?? errors;
}

async function remove<C extends PageContext>({ crud, management }: CrudPages<C>, context: C): Promise<PageResult> {
  try {
    const view = await management.remove(context, crud.resource, keyIn(context));
    return {
      to: listPath(crud, context),
      done: t('crud.removed', { name: crud.nameOf(view) }),
      ...(isRestorableKind(crud) && { undo: { to: `${rowPath(crud, context, view)}/restore` } }),
    };
  } catch (err) {
    return {
      to: context.path(`${crud.path}/${encodeURIComponent(keyIn(context))}`),
      failed: t('crud.notRemoved', { noun: nounOf(crud.resource), reason: reasonOf(err) }),
    };
  }
}
