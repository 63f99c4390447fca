import { AppError } from '../platform/errors.ts';
import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { type PageContext, queryText } from '../shell/context.ts';
import { createForm } from '../shell/forms.ts';
import type { Page, PlacedMessage } from '../shell/layout.ts';
import { type Crud, canWrite, rowPath, type Section, toFormValues, trailOf } from './crud-definition.ts';
import { type Refused, readOnlyNotice, rowActions, rowForm, statusOf } from './crud-editor.ts';
import type { Values, View } from './resource.ts';

/** Query parameter that names the open section. */
export const sectionParameter = 'edit';

type EditedSection<C extends PageContext> = Section<C> & { form: NonNullable<Section<C>['form']> };

const isEditable = <C extends PageContext>(section: Section<C>): section is EditedSection<C> =>
  section.form !== undefined;

/**
 * Returns the section that the URL opens, or null if the URL names no section or the resource has none.
 * @throws AppError not_found if there is no such section
 */
export function openSection<C extends PageContext>({ sections }: Crud<C>, context: C): EditedSection<C> | null {
  const key = queryText(context, sectionParameter);
  if (sections === undefined || key === '') return null;
  const section = sections.filter(isEditable).find((candidate) => candidate.key === key);
  if (section === undefined) throw new AppError('not_found');
  return section;
}

/**
 * Renders the page of a row with sections. While no section is open, it is an overview with the state of the row.
 * Otherwise, it shows the form of the open section and the names of the others.
 */
export async function sectionsPage<C extends PageContext>(
  crud: Crud<C>,
  context: C,
  { view, values }: { view: View; values: Values },
  refused: Refused = {},
): Promise<Page> {
  const open = openSection(crud, context);
  const notice = await crud.notice?.(context, view);
  const overview = open === null && (await overviewOf(crud, context, view));
  const parts: ((message: PlacedMessage | null) => Html)[] = [];
  for (const section of crud.sections ?? [])
    parts.push(
      section.key === open?.key
        ? await openPart(crud, context, open, { view, values }, refused)
        : await closedPart(crud, context, section, view),
    );
  const below = open === null && (await crud.below?.(context, view));
  const bodyWith = (message: PlacedMessage | null): Html => html`
    ${notice}
    ${open === null && refused.conflict}
    ${overview}
    <div class="card parts${open !== null && ' editing'}">${parts.map((part) => part(message))}</div>
    ${below}`;
  return {
    title: crud.nameOf(view),
    nav: crud.nav,
    trail: trailOf(crud, context),
    status: statusOf(refused),
    ...(crud.assets !== undefined && { assets: crud.assets }),
    actions: rowActions(crud, context, view),
    body: bodyWith(null),
    bodyWith,
  };
}

const overviewOf = async <C extends PageContext>(crud: Crud<C>, context: C, view: View): Promise<Html> =>
  html`${await crud.overview?.(context, view)}${await crud.figures?.card(context, view)}`;

async function closedPart<C extends PageContext>(crud: Crud<C>, context: C, section: Section<C>, view: View) {
  const { key, links } = section;
  const title = t(section.title);
  const text = t(canWrite(crud, context) ? 'crud.edit' : 'crud.show');
  const edit = html`
    <a class="button small" href="${rowPath(crud, context, view)}?${sectionParameter}=${key}#${key}"
      aria-label="${t('crud.actionOn', { action: text, name: title })}">${text}</a>`;
  const summary = await section.summary(context, view);
  return (message: PlacedMessage | null): Html => html`
    <section class="part" id="${key}" aria-labelledby="${key}-title">
      <h2 id="${key}-title">${title}</h2>
      <div class="summary">
        ${message?.at === key && html`<div role="status">${message.html}</div>`}
        ${summary}
      </div>
      <div class="actions">${links?.(context, view)}${isEditable(section) && edit}</div>
    </section>`;
}

async function openPart<C extends PageContext>(
  crud: Crud<C>,
  context: C,
  { key, title, form: { fields, beside } }: EditedSection<C>,
  editing: { view: View; values: Values },
  refused: Refused,
) {
  const path = rowPath(crud, context, editing.view);
  const to = `${path}?${sectionParameter}=${key}`;
  const form = createForm(refused.typed ?? toFormValues(crud, context, editing.values), refused.errors, to);
  const cancel = `${path}#${key}`;
  const controls = await fields(form, context, editing);
  const body = rowForm(crud, context, { form, fields: controls, view: editing.view, refused, cancel });
  const note = readOnlyNotice(crud, context);
  const content =
    beside === undefined ? body : html`<div class="split"><div>${body}</div>${await beside(context, editing)}</div>`;
  return (): Html => html`
    <section class="part open" id="${key}" aria-labelledby="${key}-title">
      <h2 id="${key}-title">${t(title)}</h2>
      ${note}
      ${content}
    </section>`;
}
