import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Publisher } from '../../../catalog/types.ts';
import { crudPages } from '../../../management/crud-pages.ts';
import { readColumns } from '../../../management/read-columns.ts';
import type { Values, View } from '../../../management/resource.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, type Cell, type Column, strongLink } from '../../../shell/components.ts';
import type { Fields, FormValues } from '../../../shell/context.ts';
import { moment } from '../../../shell/format.ts';
import { columns, type FormBuilder } from '../../../shell/forms.ts';
import { placements } from '../../resources/placements.ts';
import { figuresOf, type PageServices } from '../services.ts';

/** Registers the placement pages. */
export function placementPages(app: App, services: PageServices): void {
  crudPages(publisherPages(app, services), services.management, {
    resource: placements,
    path: '/settings/placements',
    nav: 'placements',
    icon: 'placements',
    title: 'nav.placements',
    lead: 'settings.placementsLead',
    writes: 'admin',
    undoable: true,
    columns: placementColumns,
    cells: placementCells,
    ...figuresOf(services, { dimension: 'placement', key: (row) => String(row.name) }),
    empty: { title: 'settings.noPlacements', text: 'settings.noPlacementsText' },
    nameOf,
    toForm: (values) =>
      ({ ...values, unit_enabled: values.unit_enabled === null ? '' : String(values.unit_enabled) }) as FormValues,
    read: readPlacement,
    fields: (form, { publisher }, { view }) => placementFields(form, publisher, view === null),
    below: (context, { name }) => services.extensions.placementCard?.(context, String(name)) ?? nothing,
  });
}

const placementColumns = (): Column[] => [
  { text: t('common.name') },
  { text: t('settings.theme') },
  { text: t('nav.offers'), numeric: true },
  { text: t('common.status') },
  { text: t('settings.created') },
];

const nameOf = (row: View): string => String(row.display_name || row.name);

const placementCells = ({ path, publisher }: PublisherContext, row: View): Cell[] => [
  html`
    ${strongLink(path(`/settings/placements/${encodeURIComponent(String(row.name))}`), nameOf(row))}<br>
    <code class="hint">${String(row.name)}</code>`,
  row.theme_id === null ? t('settings.default') : (publisher.themes.get(Number(row.theme_id))?.name ?? '–'),
  row.offers_per_response === null ? t('settings.inherited') : Number(row.offers_per_response),
  html`
    ${row.unit_enabled === false ? badge(t('common.disabled'), 'bad') : badge(t('common.enabled'), 'good')}
    ${row.auto_created === true && badge(t('settings.autoCreated'))}`,
  moment(publisher, String(row.created_at), 'day'),
];

const readPlacement = (fields: Fields): Values => ({
  ...(fields.text('name') !== '' && { name: fields.text('name') }),
  ...readColumns(placements, fields, ['display_name', 'theme_id', 'offers_per_response', 'delivery_percentage']),
  unit_enabled: fields.text('unit_enabled') === '' ? null : fields.text('unit_enabled') === 'true',
});

const unitChoices = () => [
  { value: '', text: t('settings.inheritedFromTheme') },
  { value: 'true', text: t('common.enabled') },
  { value: 'false', text: t('common.disabled') },
];

function placementFields(form: FormBuilder, { themes }: Publisher, isNew: boolean): Html {
  const themeChoices = [...themes.values()].map(({ id, name }) => ({ value: String(id), text: name }));
  const hint = t('settings.inheritedHint');
  return html`
    ${columns([
      isNew &&
        form.input('name', {
          label: t('settings.nameInRequests'),
          required: true,
          code: true,
          hint: t('settings.nameInRequestsHint'),
        }),
      form.input('display_name', { label: t('settings.displayName') }),
    ])}
    ${columns([
      form.select('theme_id', {
        label: t('settings.theme'),
        choices: [{ value: '', text: t('settings.defaultTheme') }, ...themeChoices],
      }),
      form.input('offers_per_response', { label: t('settings.offerCount'), type: 'number', min: 1, max: 10, hint }),
      form.input('delivery_percentage', {
        label: t('settings.deliveryPercentage'),
        type: 'number',
        min: 0,
        max: 100,
        hint,
      }),
      form.select('unit_enabled', { label: t('settings.unit'), choices: unitChoices() }),
    ])}`;
}
