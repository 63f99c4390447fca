import type { Values, View } from '../../../catalog/management/resource.ts';
import { themes } from '../../../catalog/management/themes.ts';
import { maxThemeKeyLength } from '../../../catalog/snapshot/names.ts';
import type { Publisher, Theme, Unit } from '../../../catalog/snapshot/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, type Cell, strongLink } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { crudPages } from '../../shell/crud/routes.ts';
import type { Fields } from '../../shell/fields.ts';
import { moment } from '../../shell/format.ts';
import { columns, type FormBuilder, type FormValues, fieldGroup } from '../../shell/forms.ts';
import { pageHeaders } from '../../shell/headers.ts';
import { isNested } from '../../shell/nested.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';
import { previewFrame, previewPanel, previewState, themePreview } from '../offers/preview.ts';
import { appearanceFields, appearanceToForm, jsonField, readAppearance } from './appearance-form.ts';

/** Appearance and behaviour of units, and the User Selected Perks toggles (docs/interface.md#settings-and-styles). */
export function themePages(app: App, services: PageServices): void {
  const { publicUrl } = services.deps.config;
  app.get('/dashboard/p/:publisherId/preview', { schema: { hide: true } }, async (_request, reply) =>
    reply.headers(pageHeaders(publicUrl, "'self'")).send(previewFrame(services.asset)),
  );

  const pages = publisherPages(app, services);
  const previewOf = (publisher: Publisher, values: Values) =>
    themePreview({ publisher, theme: previewedTheme(values), publicUrl });
  // What is typed, as units would get it.
  pages.post('/preview', 'admin', async ({ publisher }, fields) => ({
    fragment: previewState(previewOf(publisher, readTheme(fields))),
  }));

  crudPages(pages, services.management, {
    resource: themes,
    path: '/settings/themes',
    nav: 'themes',
    icon: 'themes',
    title: 'Themes',
    lead: 'Appearance and behaviour of units. Used by placement, by request, or as the default.',
    writes: 'admin',
    assets: ['preview.js'],
    columns: [
      { text: 'Name' },
      { text: 'Key' },
      { text: 'Unit' },
      { text: 'User Selected Perks' },
      { text: 'Updated' },
    ],
    cells: themeCells,
    empty: {
      title: 'No themes yet',
      text: 'Without a theme, units have the default appearance and show single offers.',
    },
    nameOf: (row) => String(row.name),
    initial: ({ publisher }) => ({ unit: 'mou', is_default: publisher.themes.size === 0 }),
    toForm: themeToForm,
    read: readTheme,
    fields: (form, { publisher }) => themeFields(form, publisher),
    previewed: true,
    beside: ({ publisher, path }, { values }) => previewPanel(path('/preview'), previewOf(publisher, values)),
  });
}

const themeCells = ({ path, publisher }: PublisherContext, row: View): Cell[] => [
  html`
    ${strongLink(path(`/settings/themes/${row.id}`), String(row.name))}
    ${row.is_default === true && badge('Default', 'info')}`,
  html`<code>${String(row.key)}</code>`,
  row.unit === 'mou' ? 'Multi offer unit' : 'Single offer unit',
  row.usp_enabled === true ? badge(row.usp_check_all === true ? 'On, all selected' : 'On', 'good') : 'Off',
  moment(publisher, String(row.updated_at)),
];

const themeToForm = (values: Values): FormValues => ({
  ...(values as FormValues),
  ...appearanceToForm({
    settings: isNested(values.settings) ? values.settings : {},
    styles: isNested(values.styles) ? values.styles : {},
    appearance: isNested(values.appearance) ? values.appearance : {},
  }),
  ...(typeof values.settings === 'string' && { [jsonField]: values.settings }),
});

const readTheme = (fields: Fields): Values => ({
  name: fields.text('name'),
  key: fields.text('key'),
  unit: fields.text('unit'),
  is_default: fields.checked('is_default'),
  usp_enabled: fields.checked('usp_enabled'),
  usp_check_all: fields.checked('usp_check_all'),
  offers_per_response: fields.number('offers_per_response'),
  ...readAppearance(fields),
});

const unitChoices = [
  { value: 'mou', text: 'Multi offer unit – several at once' },
  { value: 'sou', text: 'Single offer unit – one after another' },
];

const themeFields = (form: FormBuilder, { offersPerResponse, uspEnabled }: Publisher): Html => html`
  ${columns([
    form.input('name', { label: 'Name', required: true }),
    form.input('key', {
      label: 'Key',
      maxLength: maxThemeKeyLength,
      hint: 'Names the theme in requests and pages (themeId), beside its id. Empty: made of the name.',
    }),
  ])}
  ${columns([
    form.select('unit', { label: 'Unit', choices: unitChoices }),
    form.input('offers_per_response', {
      label: 'Number of offers',
      type: 'number',
      min: 1,
      max: 10,
      hint: `Empty: inherited from settings (${offersPerResponse}).`,
    }),
  ])}
  ${form.checkbox('is_default', {
    label: 'Default theme',
    hint: 'Used when neither the request nor the placement names a theme.',
  })}
  ${fieldGroup(
    'User Selected Perks',
    uspEnabled ? [] : html`<p class="hint">Not enabled for this publisher: without effect until an operator does.</p>`,
    form.checkbox('usp_enabled', { label: 'User Selected Perks', hint: 'Multi offer unit only.' }),
    form.checkbox('usp_check_all', { label: 'Check All Offers for USP', hint: 'All offers start selected.' }),
  )}
  ${appearanceFields(form)}`;

/** As much of a theme as a preview needs; the values may be invalid. */
const previewedTheme = (values: Values): Theme => ({
  id: 0,
  key: '',
  name: '',
  unit: (values.unit === 'sou' ? 'sou' : 'mou') satisfies Unit,
  uspEnabled: values.usp_enabled === true,
  uspCheckAll: values.usp_check_all === true,
  offersPerResponse: null,
  deliveryPercentage: null,
  unitEnabled: null,
  settings: isNested(values.settings) ? values.settings : {},
  styles: isNested(values.styles) ? values.styles : {},
  appearance: isNested(values.appearance) ? values.appearance : {},
});
