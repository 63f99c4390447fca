import { placements } from '../../../catalog/management/placements.ts';
import { html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge } from '../../shell/components.ts';
import { crudPages } from '../../shell/crud.ts';
import { moment } from '../../shell/format.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';

const triState = [
  { value: '', text: 'As the theme says' },
  { value: 'true', text: 'On' },
  { value: 'false', text: 'Off' },
];

/** Where a unit is shown. */
export function placementPages(app: App, tools: Tools): void {
  crudPages(publisherPages(app, tools), tools.store, {
    resource: placements,
    path: '/settings/placements',
    nav: 'placements',
    icon: 'placements',
    title: 'Placements',
    lead: 'Where a unit is shown. A name that is new is added by itself with its first call.',
    one: 'a placement',
    writes: 'admin',
    columns: [
      { text: 'Name' },
      { text: 'Theme' },
      { text: 'Offers', numeric: true },
      { text: 'State' },
      { text: 'Since' },
    ],
    cells: ({ path, publisher }, row) => [
      html`<a href="${path(`/settings/placements/${encodeURIComponent(String(row.name))}`)}"><strong>${String(row.display_name || row.name)}</strong></a><br><code class="hint">${String(row.name)}</code>`,
      row.theme_id === null ? 'default' : (publisher.themes.get(Number(row.theme_id))?.name ?? '–'),
      row.offers_per_response === null ? 'as theme' : Number(row.offers_per_response),
      html`${row.unit_enabled === false ? badge('Off', 'bad') : badge('On', 'good')}${row.auto_created === true ? html` ${badge('by a call', 'plain')}` : html``}`,
      moment(publisher, new Date(String(row.created_at)), 'day'),
    ],
    empty: { title: 'No placements yet', text: 'Add one, or just name it in a call for offers: it appears here.' },
    nameOf: (row) => String(row.display_name || row.name),
    toForm: (values) =>
      ({ ...values, unit_enabled: values.unit_enabled === null ? '' : String(values.unit_enabled) }) as Record<
        string,
        string
      >,
    read: (fields) => ({
      ...(fields.text('name') !== '' && { name: fields.text('name') }),
      display_name: fields.text('display_name'),
      theme_id: fields.number('theme_id'),
      offers_per_response: fields.number('offers_per_response'),
      delivery_percentage: fields.number('delivery_percentage'),
      unit_enabled: fields.text('unit_enabled') === '' ? null : fields.text('unit_enabled') === 'true',
    }),
    fields: (form, { publisher }, { view }) => html`<div class="columns">
${view === null ? form.input('name', { label: 'Name in calls', required: true, code: true, hint: 'Such as order-confirmation. It cannot be changed later.' }) : html``}
${form.input('display_name', { label: 'Name shown here' })}</div>
<div class="columns">${form.select('theme_id', { label: 'Theme', choices: [{ value: '', text: 'The default theme' }, ...[...publisher.themes.values()].map(({ id, name }) => ({ value: String(id), text: name }))] })}
${form.input('offers_per_response', { label: 'Number of offers', type: 'number', min: 1, most: 10, hint: 'Empty: as the theme says.' })}
${form.input('delivery_percentage', { label: 'Delivery percentage', type: 'number', min: 0, most: 100, hint: 'Empty: as the theme says.' })}
${form.select('unit_enabled', { label: 'Unit', choices: triState })}</div>`,
  });
}
