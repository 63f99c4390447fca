import { versionField } from '../../../management/crud-editor.ts';
import type { Values } from '../../../management/resource.ts';
import { PreconditionFailed } from '../../../management/rows.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import type { App } from '../../../platform/ports.ts';
import { hiddenField, readOnlyFields, saveForm } from '../../../shell/actions.ts';
import { notice } from '../../../shell/components.ts';
import { type FieldErrors, type Fields, fieldErrorsOf, formOf, hasRole } from '../../../shell/context.ts';
import { columns, fieldGroup } from '../../../shell/field-groups.ts';
import { createForm, type FormBuilder, type FormValues } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import { joinList, splitList } from '../../../shell/list-text.ts';
import type { PageResult } from '../../../shell/pages.ts';
import { typedValues } from '../../../shell/row-list.ts';
import { type PublisherContext, publisherPages } from '../../publisher-pages.ts';
import { type ControlsView, getControls, setControls, storedOf } from '../../resources/controls.ts';
import { createPicker, type Picker } from '../campaigns/options.ts';
import type { PageServices } from '../services.ts';
import { costCard, effectNotice } from './controls-effects.ts';

const path = '/settings/controls';
const writes = 'admin';

/** The button that checks what is typed and saves nothing. */
const checkField = '_check';

/** Ticked to save rules that block every offer. */
const confirmedField = '_confirmed';

/** What the publisher never shows, keeps apart, and shows only from a price on. */
export function controlsPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  pages.get(path, 'analyst', async (context) => controlsPage(services, context, await stored(services, context)));
  pages.post(path, writes, (context, fields) => save(services, context, fields));
}

type Shown = Awaited<ReturnType<typeof stored>>;
type Refused = { typed?: FormValues; errors?: FieldErrors; mustConfirm?: boolean; effect?: Html };

const finder =
  ({ deps }: PageServices) =>
  (id: number) =>
    deps.catalog.current().publishers.get(id);

const stored = (services: PageServices, context: PublisherContext) =>
  services.management.read(context, (work) => getControls(work, String(context.publisher.id), finder(services)));

async function save(services: PageServices, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const set = (dryRun: boolean) =>
    services.management.write(context, (work) => {
      const mode = { ifMatch: fields.text(versionField) || null, dryRun };
      return setControls(work, String(context.publisher.id), readControls(fields), mode, finder(services));
    });
  const typed = typedValues(formOf(context.request));
  try {
    const { view, warnings } = await set(true);
    if (fields.checked(checkField)) {
      const effect = await effectNotice(services, context, storedOf(view));
      return controlsPage(services, context, await stored(services, context), { typed, effect });
    }
    if (warnings.length > 0 && !fields.checked(confirmedField))
      return controlsPage(services, context, await stored(services, context), { typed, mustConfirm: true });
    await set(false);
    return { to: context.path(path), done: t('controls.saved') };
  } catch (err) {
    const errors: FieldErrors =
      err instanceof PreconditionFailed ? [{ path: '/', message: t('settings.conflict') }] : fieldErrorsOf(err);
    return controlsPage(services, context, await stored(services, context), { typed, errors });
  }
}

async function controlsPage(
  services: PageServices,
  context: PublisherContext,
  { view, warnings, etag }: Shown,
  { typed, errors = [], mustConfirm = false, effect = nothing }: Refused = {},
): Promise<Page> {
  const form = createForm(typed ?? controlsToForm(view), errors);
  const fields = controlsFields(form, createPicker(services.deps, context));
  const { total, blocked } = view.offers;
  const confirm = html`
    ${notice('warn', html`<p>${t('controls.blocksAll')}</p>`)}
    ${form.checkbox(confirmedField, { label: t('controls.confirm') })}`;
  const to = context.path(path);
  const body = html`
    ${hiddenField(versionField, etag)}${form.summary()}${effect}${fields}${mustConfirm ? confirm : nothing}`;
  const isEditor = hasRole(context.viewer.user.role, writes);
  return {
    title: t('controls.title'),
    lead: t('controls.lead'),
    nav: 'controls',
    assets: ['pickers.js'],
    status: errors.length > 0 || mustConfirm ? 422 : 200,
    body: html`
      ${!mustConfirm && warnings.length > 0 && notice('warn', html`<p>${t('controls.blocksAll')}</p>`)}
      <section class="card">
        <p>${t('controls.blockedNow', { blocked, total })}</p>
        ${isEditor ? saveForm(context, to, body, { extra: checkButton() }) : readOnlyFields(fields)}
      </section>
      ${await costCard(services, context, view)}`,
  };
}

const checkButton = (): Html =>
  html`<button class="button" name="${checkField}" value="1">${t('controls.check')}</button>`;

function controlsFields(form: FormBuilder, picker: Picker): Html {
  const picked = (kind: 'categories' | 'advertisers' | 'offers', label: string, hint?: string): Html => {
    const name = `blocked.${kind}`;
    return form.input(name, { label, picker: picker(kind, form.values[name]), ...(hint !== undefined && { hint }) });
  };
  return html`
    ${fieldGroup(
      t('controls.blocked'),
      html`<p class="hint">${t('controls.blockedHint')}</p>`,
      columns([
        picked('categories', t('settings.categories')),
        picked('advertisers', t('nav.advertisers')),
        picked('offers', t('nav.offers')),
      ]),
      columns([
        form.textarea('blocked.brands', { label: t('controls.brands'), hint: t('controls.brandsHint') }),
        form.textarea('blocked.domains', { label: t('controls.domains'), hint: t('controls.domainsHint') }),
        form.textarea('blocked.words', { label: t('controls.words'), hint: t('controls.wordsHint') }),
      ]),
    )}
    ${fieldGroup(
      t('controls.separate'),
      form.checkbox('separate.categories', { label: t('controls.separateCategories') }),
      form.textarea('separate.competitors', { label: t('controls.competitors'), hint: t('controls.competitorsHint') }),
    )}
    ${fieldGroup(
      t('controls.floors'),
      form.textarea('floors', { label: t('controls.floors'), hint: t('controls.floorsHint'), code: true }),
    )}`;
}

const lists = ['categories', 'brands', 'advertisers', 'domains', 'offers', 'words'] as const;
const idLists: ReadonlySet<string> = new Set(['advertisers', 'offers']);

const controlsToForm = ({ blocked, separate, floors }: ControlsView): FormValues => ({
  ...Object.fromEntries(lists.map((name) => [`blocked.${name}`, joinList(blocked[name])])),
  'separate.categories': separate.categories,
  'separate.competitors': joinList(separate.competitors),
  floors: Object.entries(floors)
    .map(([placement, amount]) => `${placement} = ${amount}`)
    .join('\n'),
});

/** Ids as numbers; any other text stays as it is, for the validation to refuse. */
const idOf = (text: string): string | number => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : text);

const readControls = (fields: Fields): Values => ({
  blocked: Object.fromEntries(
    lists.map((name) => {
      const items = splitList(fields.text(`blocked.${name}`));
      return [name, idLists.has(name) ? items.map(idOf) : items];
    }),
  ),
  separate: {
    categories: fields.checked('separate.categories'),
    competitors: splitList(fields.text('separate.competitors')).map(idOf),
  },
  floors: readFloors(fields.text('floors')),
});

/** Lines of `placement = amount`; an amount that is none stays a text, for the validation to refuse. */
const readFloors = (text: string): Values =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const at = line.lastIndexOf('=');
        const amount = line.slice(at + 1).trim();
        const isNumber = at > 0 && /^\d+([.,]\d+)?$/.test(amount);
        return [line.slice(0, Math.max(0, at)).trim(), isNumber ? Number(amount.replace(',', '.')) : amount];
      }),
  );
