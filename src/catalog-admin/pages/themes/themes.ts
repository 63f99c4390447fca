import { maxThemeKeyLength } from '../../../catalog/names.ts';
import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Publisher, Theme, Unit } from '../../../catalog/types.ts';
import { crudPages } from '../../../management/crud-pages.ts';
import { readColumns } from '../../../management/read-columns.ts';
import type { Values, View } from '../../../management/resource.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, type Cell, type Column, strongLink } from '../../../shell/components.ts';
import { type Fields, type FormValues, fieldErrorsOf } from '../../../shell/context.ts';
import { moment } from '../../../shell/format.ts';
import { type Choice, columns, type FormBuilder, fieldGroup, fieldGroups, isNested } from '../../../shell/forms.ts';
import { readFont } from '../../fonts/routes.ts';
import { previewPanel, previewState, registerPreviewFrame, themePreview } from '../../offer-preview.ts';
import { themes } from '../../resources/themes.ts';
import type { PageServices } from '../services.ts';
import { coloursOf } from './appearance-fields.ts';
import {
  appearanceGroups,
  appearanceToForm,
  fontFields,
  jsonField,
  mainAppearanceFields,
  otherSettings,
  readAppearance,
} from './appearance-form.ts';
import { coloursIn, paletteOf } from './palette.ts';

/**
 * Registers the theme pages, which define the appearance and behaviour of offer units and the User Selected Perks
 * toggles (docs/reference/themes-and-rendering.md#settings-and-styles).
 */
export function themePages(app: App, services: PageServices): void {
  const { publicUrl, extensions } = services;
  registerPreviewFrame(app, '/dashboard/p/:publisherId/preview', services);

  const pages = publisherPages(app, services);
  const previewOf = (publisher: Publisher, values: Values) =>
    themePreview({ publisher, theme: previewedTheme(values), publicUrl, sampleOffers: extensions.sampleOffers });
  // Returns a preview of the values entered in the form.
  pages.post('/preview', 'admin', async ({ publisher }, fields) => ({
    fragment: previewState(previewOf(publisher, readTheme(fields))),
  }));

  // Returns the field values for a palette generated from brand colours. Empty if the text contains no colour.
  pages.post('/palette', 'admin', async (_context, fields) => {
    const colours = coloursIn(fields.text('brand'));
    const generated = colours.length === 0 ? [] : coloursOf(paletteOf(colours));
    return { fragment: html`${generated.map(([path, colour]) => html`<data value="${colour}">${path}</data>`)}` };
  });

  // Returns the field values measured from the font file. `problem` states why a font cannot be used.
  pages.post('/font', 'admin', async ({ publisher }, fields) => {
    const read = (url: string) =>
      readFont(url, { fetchFont: extensions.fetchFont, publicUrl, publisherId: publisher.id });
    try {
      const measured = await fontFields(fields, read);
      return { fragment: html`${measured.map(([path, value]) => html`<data value="${value}">${path}</data>`)}` };
    } catch (err) {
      return { fragment: html`<p>${fieldErrorsOf(err)[0]?.message}</p>` };
    }
  });

  crudPages(pages, services.management, {
    resource: themes,
    path: '/settings/themes',
    nav: 'themes',
    icon: 'themes',
    title: 'nav.themes',
    lead: 'themes.lead',
    writes: 'admin',
    undoable: true,
    assets: ['preview.js'],
    columns: themeColumns,
    cells: themeCells,
    empty: { title: 'themes.none', text: 'themes.noneText' },
    nameOf: (row) => String(row.name),
    initial: ({ publisher }) => ({ unit: 'mou', is_default: publisher.themes.size === 0 }),
    toForm: themeToForm,
    read: readTheme,
    fields: (form, { publisher }, { view }) => themeFields(form, publisher, view === null),
    beside: ({ publisher, path }, { values }) => previewPanel(path('/preview'), previewOf(publisher, values)),
  });
}

const themeColumns = (): Column[] => [
  { text: t('common.name') },
  { text: t('themes.key') },
  { text: t('settings.unit') },
  { text: t('settings.usp') },
  { text: t('campaigns.updated') },
];

const themeCells = ({ path, publisher }: PublisherContext, row: View): Cell[] => [
  html`
    ${strongLink(path(`/settings/themes/${row.id}`), String(row.name))}
    ${row.is_default === true && badge(t('themes.default'), 'info')}`,
  html`<code>${String(row.key)}</code>`,
  row.unit === 'mou' ? t('themes.multiOfferUnit') : t('themes.singleOfferUnit'),
  row.usp_enabled === true
    ? badge(t(row.usp_check_all === true ? 'themes.onAllSelected' : 'common.on'), 'good')
    : t('common.off'),
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

/** Columns whose form values are parsed by their schemas. */
const plainColumns = ['name', 'key', 'unit', 'is_default', 'usp_enabled', 'usp_check_all', 'offers_per_response'];

const readTheme = (fields: Fields): Values => ({
  ...readColumns(themes, fields, plainColumns),
  ...readAppearance(fields),
});

const unitChoices = (): Choice[] => [
  { value: 'mou', text: t('themes.multiOfferChoice') },
  { value: 'sou', text: t('themes.singleOfferChoice') },
];

/** Condition for showing form fields: User Selected Perks are available only in multi offer units. */
const multiOffer = { field: 'unit', value: 'mou' };

/** Renders the fields of a theme. For a new theme, only those that every theme needs are open. */
const themeFields = (form: FormBuilder, { offersPerResponse, uspEnabled }: Publisher, isNew: boolean): Html => html`
  ${columns([
    form.input('name', { label: t('common.name'), required: true }),
    form.select('unit', { label: t('settings.unit'), choices: unitChoices() }),
  ])}
  ${mainAppearanceFields(form)}
  ${fieldGroup(
    t('settings.usp'),
    uspEnabled ? [] : html`<p class="hint">${t('themes.uspNotEnabled')}</p>`,
    form.checkbox('usp_enabled', { label: t('settings.usp'), hint: t('themes.uspHint'), needs: multiOffer }),
    form.checkbox('usp_check_all', {
      label: t('themes.uspCheckAll'),
      hint: t('themes.uspCheckAllHint'),
      needs: multiOffer,
    }),
  )}
  ${fieldGroups(isNew, [
    [
      t('themes.use'),
      columns([
        form.input('key', {
          label: t('themes.key'),
          maxLength: maxThemeKeyLength,
          hint: t('themes.keyHint'),
        }),
        form.input('offers_per_response', {
          label: t('settings.offerCount'),
          type: 'number',
          min: 1,
          max: 10,
          hint: t('themes.offerCountHint', { count: offersPerResponse }),
        }),
      ]),
      form.checkbox('is_default', {
        label: t('settings.defaultTheme'),
        hint: t('themes.defaultHint'),
      }),
    ],
    ...appearanceGroups(form),
  ])}
  ${otherSettings(form)}`;

/** Builds a theme with only the fields that a preview needs. The values may be invalid. */
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
