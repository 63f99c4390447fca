import type { Values } from '../../../catalog/management/resource.ts';
import { themes } from '../../../catalog/management/themes.ts';
import type { Theme, Unit } from '../../../catalog/snapshot/types.ts';
import { html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge } from '../../shell/components.ts';
import { crudPages } from '../../shell/crud.ts';
import { moment } from '../../shell/format.ts';
import type { FormValue } from '../../shell/forms.ts';
import { pageHeaders } from '../../shell/headers.ts';
import { isNested } from '../../shell/nested.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { previewFrame, previewPanel, themePreview } from '../offers/preview.ts';
import { lookFields, lookToForm, readLook } from './theme-form.ts';

/** How a unit looks and behaves, with the User Selected Perks toggles (docs/interface.md#settings-and-styles). */
export function themePages(app: App, tools: Tools): void {
  const { publicUrl } = tools.deps.config;
  const frame = previewFrame(tools.asset);
  app.get('/dashboard/p/:publisherId/preview', { schema: { hide: true } }, async (_request, reply) =>
    reply.headers(pageHeaders(publicUrl, "'self'")).send(frame),
  );

  crudPages(publisherPages(app, tools), tools.store, {
    resource: themes,
    path: '/settings/themes',
    nav: 'themes',
    icon: 'themes',
    title: 'Themes',
    lead: 'How the unit looks and behaves. A placement or a call may name one; else it is the default.',
    one: 'a theme',
    writes: 'admin',
    assets: ['preview.js'],
    columns: [{ text: 'Name' }, { text: 'Unit' }, { text: 'User Selected Perks' }, { text: 'Changed' }],
    cells: ({ path, publisher }, row) => [
      html`<a href="${path(`/settings/themes/${row.id}`)}"><strong>${String(row.name)}</strong></a>${row.is_default === true ? html` ${badge('Default', 'info')}` : nothing}`,
      row.unit === 'mou' ? 'Multi offer unit' : 'Single offer unit',
      row.usp_enabled === true ? badge(row.usp_check_all === true ? 'On, all checked' : 'On', 'good') : 'Off',
      moment(publisher, new Date(String(row.updated_at))),
    ],
    empty: {
      title: 'No themes yet',
      text: 'Without one, the unit has its standard look and shows one offer at a time.',
    },
    nameOf: (row) => String(row.name),
    initial: ({ publisher }) => ({ unit: 'mou', is_default: publisher.themes.size === 0 }),
    toForm: (values) => ({
      ...(values as Record<string, FormValue>),
      ...lookToForm({
        settings: isNested(values.settings) ? values.settings : {},
        styles: isNested(values.styles) ? values.styles : {},
      }),
      ...(typeof values.settings === 'string' && { rest: values.settings }),
    }),
    read: (fields) => ({
      name: fields.text('name'),
      unit: fields.text('unit'),
      is_default: fields.checked('is_default'),
      usp_enabled: fields.checked('usp_enabled'),
      usp_check_all: fields.checked('usp_check_all'),
      offers_per_response: fields.number('offers_per_response'),
      ...readLook(fields),
    }),
    fields: (form, { publisher }) => html`${form.input('name', { label: 'Name', required: true })}
<div class="columns">${form.select('unit', {
      label: 'Unit',
      choices: [
        { value: 'mou', text: 'Multi offer unit – several at once' },
        { value: 'sou', text: 'Single offer unit – one after another' },
      ],
    })}${form.input('offers_per_response', { label: 'Number of offers', type: 'number', min: 1, most: 10, hint: `Empty: as configured, ${publisher.offersPerResponse}.` })}</div>
${form.check('is_default', { label: 'The default theme', hint: 'Used where neither the call nor the placement names one.' })}
<fieldset class="group"><legend>User Selected Perks</legend>
${publisher.uspEnabled ? nothing : html`<p class="hint">Not enabled for this publisher. An operator enables it; until then these have no effect.</p>`}
${form.check('usp_enabled', { label: 'User Selected Perks', hint: 'Multi offer unit only.' })}
${form.check('usp_check_all', { label: 'Check All Offers for USP', hint: 'All offers start selected.' })}</fieldset>
${lookFields(form)}`,
    beside: ({ publisher, path }, { values }) =>
      previewPanel(path('/preview'), themePreview({ publisher, theme: themeOf(values), publicUrl })),
  });
}

/** As much of a theme as a preview needs, from values that may be wrong. */
const themeOf = (values: Values): Theme => ({
  id: 0,
  name: '',
  unit: (values.unit === 'sou' ? 'sou' : 'mou') satisfies Unit,
  uspEnabled: values.usp_enabled === true,
  uspCheckAll: values.usp_check_all === true,
  offersPerResponse: null,
  deliveryPercentage: null,
  unitEnabled: null,
  settings: {},
  styles: {},
});
