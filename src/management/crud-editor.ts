import { isDeepStrictEqual } from 'node:util';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { t, tHtml } from '../platform/i18n/messages.ts';
import { actionButton, hiddenField, notice, readOnlyFields, saveForm, table } from '../shell/components.ts';
import { type FieldErrors, type FormValues, type PageContext, roleName } from '../shell/context.ts';
import { withValueNames } from '../shell/differences.ts';
import { fieldName } from '../shell/format.ts';
import { createForm, type FormBuilder, sectionIndex } from '../shell/forms.ts';
import type { Page } from '../shell/layout.ts';
import { defaultButton, versionField } from '../shell/row-list.ts';
import {
  type Crud,
  canWrite,
  type Editing,
  isRestorableKind,
  listPath,
  nounOf,
  rowPath,
  toFormValues,
  trailOf,
} from './crud-definition.ts';
import { defaultsOf, type Values, type View } from './resource.ts';
import { restorableDays } from './restore.ts';
import { etagOf } from './rows.ts';

export type Refused = {
  errors?: FieldErrors;
  /** Submitted form values. If absent, the stored values are shown. */
  typed?: FormValues;
  /** Notice that another user has changed the row. It is shown above the form instead of `errors`. */
  conflict?: Html;
  /** Row version from which a rejected form was rendered. Default: the current version. */
  version?: string;
};

/** Renders the page with the form for a new row. */
export function newRowPage<C extends PageContext>(
  crud: Crud<C>,
  context: C,
  values: Values = {},
  refused: Refused = {},
): Promise<Page> {
  const initial = { ...defaultsOf(crud.resource), ...values };
  return editorPage(crud, context, { view: null, values: initial }, refused);
}

/** Renders the page with the form for a row, filled with the stored or submitted values. */
export async function editorPage<C extends PageContext>(
  crud: Crud<C>,
  context: C,
  editing: Editing,
  refused: Refused = {},
): Promise<Page> {
  const { view } = editing;
  const { errors = [] } = refused;
  const main = await formCard(crud, context, editing, refused);
  const above = view !== null && (await crud.notice?.(context, view));
  const figures = view !== null && errors.length === 0 && (await crud.figures?.card(context, view));
  const below = view !== null && (await crud.below?.(context, view));
  const form =
    crud.beside === undefined
      ? main
      : html`<div class="split"><div>${main}</div>${await crud.beside(context, editing)}</div>`;
  return {
    title: view === null ? t('crud.new', { noun: nounOf(crud.resource) }) : crud.nameOf(view),
    nav: crud.nav,
    trail: trailOf(crud, context),
    status: statusOf(refused),
    ...(crud.assets !== undefined && { assets: crud.assets }),
    actions: view === null ? nothing : rowActions(crud, context, view),
    body: html`${above}${figures}${form}${below}`,
  };
}

export const statusOf = ({ errors = [], conflict }: Refused): number =>
  errors.length > 0 ? 422 : conflict === undefined ? 200 : 409;

async function formCard<C extends PageContext>(
  crud: Crud<C>,
  context: C,
  editing: Editing,
  refused: Refused,
): Promise<Html> {
  const { view, values } = editing;
  const to = view === null ? listPath(crud, context) : rowPath(crud, context, view);
  const form = createForm(refused.typed ?? toFormValues(crud, context, values), refused.errors, to);
  const fields = await crud.fields(form, context, editing);
  return html`
    <section class="card">
      ${readOnlyNotice(crud, context)}
      ${sectionIndex(fields)}
      ${rowForm(crud, context, { form, fields, view, refused, cancel: listPath(crud, context) })}
    </section>`;
}

/** Renders a notice for users who can only read the row. */
export const readOnlyNotice = <C extends PageContext>(crud: Crud<C>, context: C): Html =>
  canWrite(crud, context)
    ? nothing
    : notice('info', html`<p>${t('common.readOnly', { role: roleName(crud.writes) })}</p>`);

type RowForm = { form: FormBuilder; fields: Html; view: View | null; refused: Refused; cancel: string };

/** Renders the form of a row, or its disabled fields for users who can only read the row. */
export function rowForm<C extends PageContext>(
  crud: Crud<C>,
  context: C,
  { form, fields, view, refused: { conflict, version }, cancel }: RowForm,
): Html {
  if (!canWrite(crud, context)) return html`<form class="form" data-previewed>${readOnlyFields(fields)}</form>`;
  const isPreviewed = crud.assets?.includes('preview.js') === true && (view === null || crud.sections === undefined);
  const hidden = view !== null && hiddenField(versionField, version || etagOf(view));
  const options = {
    cancel,
    rows: true,
    once: view === null,
    attributes: html`${[
      html`${isPreviewed && html` data-previewed`}`,
      html`${view === null && html` data-page="${form.to}/new"`}`,
      html`${view === null && crud.create !== undefined && html` enctype="multipart/form-data"`}`,
    ]}`,
    ...(isPreviewed && {
      extra: html`<a class="button to-preview" href="#preview">${t('common.preview')}</a>`,
    }),
  };
  return saveForm(context, form.to, html`${defaultButton()}${conflict}${form.summary()}${hidden}${fields}`, options);
}

/** Renders the buttons next to the title of a row. */
export function rowActions<C extends PageContext>(crud: Crud<C>, context: C, view: View): Html {
  const canRemove = crud.removable !== false && canWrite(crud, context);
  const name = crud.nameOf(view);
  const question = isRestorableKind(crud)
    ? t('crud.removeRestorable', { name, days: restorableDays })
    : t('crud.remove', { name });
  const remove = () =>
    actionButton(context, {
      to: `${rowPath(crud, context, view)}/remove`,
      text: t('common.remove'),
      kind: 'quiet danger',
      confirm: question,
    });
  return html`${crud.actions?.(context, view)}${canRemove && remove()}`;
}

/** Renders a notice that another user has changed the row in the meantime, with the values that differ. */
export function conflictNotice(stored: View, typed: Values): Html {
  const differing = Object.entries(typed).filter(([name, value]) => !isDeepStrictEqual(value, stored[name]));
  const display = (name: string, value: unknown): string => {
    const text = withValueNames('', name, value);
    return typeof text === 'string' ? text : JSON.stringify(text);
  };
  return html`
    <div class="notice warn" role="alert" tabindex="-1" data-focus>
      <p>${tHtml('crud.conflict')}</p>
    </div>
    ${table(
      t('crud.differences'),
      [{ text: t('crud.field') }, { text: t('crud.stored') }, { text: t('crud.yours') }],
      differing.map(([name, value]) => [fieldName(name), display(name, stored[name]), display(name, value)]),
    )}`;
}
