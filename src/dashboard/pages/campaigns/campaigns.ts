import { advertisers } from '../../../catalog/management/advertisers.ts';
import { campaigns, warnOfCurrencies } from '../../../catalog/management/campaigns.ts';
import { payoutKinds } from '../../../catalog/rules/rules.ts';
import { html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, emptyState, linkButton } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { crudPages } from '../../shell/crud.ts';
import type { FormValue } from '../../shell/forms.ts';
import { actorOf, choicesOf, publisherOf, queryText } from '../../shell/management.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { readRules, rulesFields, rulesToForm, splitList } from './rules-form.ts';

const payouts: Record<(typeof payoutKinds)[number], string> = {
  cpc: 'for a click',
  cpa: 'for an action',
  cpm: 'for 1,000 impressions',
  cps: 'percent of the sale',
};

/** What advertisers promote: where it leads, what it pays, and who sees it. */
export function campaignPages(app: App, tools: Tools): void {
  const { store } = tools;

  const advertiserChoices = (context: PublisherContext, chosen: unknown) =>
    choicesOf(store, context, advertisers, chosen);

  crudPages(publisherPages(app, tools), store, {
    resource: campaigns,
    path: '/campaigns',
    nav: 'campaigns',
    icon: 'campaigns',
    title: 'Campaigns',
    lead: 'What advertisers promote: where it leads, what it pays, and who sees it.',
    one: 'a campaign',
    writes: 'manager',
    filterNames: ['advertiser_id', 'active'],
    filters: async (context) =>
      html`<div class="field"><div class="label"><label for="f-advertiser">Advertiser</label></div><select id="f-advertiser" name="advertiser_id"><option value="">All</option>${(await advertiserChoices(context, queryText(context, 'advertiser_id'))).map(({ value, text }) => html`<option value="${value}"${value === queryText(context, 'advertiser_id') && html` selected`}>${text}</option>`)}</select></div>`,
    columns: [
      { text: 'Name' },
      { text: 'Category' },
      { text: 'Pays' },
      { text: 'Priority', numeric: true },
      { text: 'State' },
      { text: 'Offers', hidden: true },
    ],
    cells: ({ path }, row) => [
      html`<a href="${path(`/campaigns/${row.id}`)}"><strong>${String(row.name)}</strong></a><br><span class="hint">no. ${Number(row.id)}</span>`,
      String(row.category || '–'),
      `${Number(row.payout_amount)} ${row.payout_kind === 'cps' ? '%' : String(row.payout_currency)} ${String(row.payout_kind).toUpperCase()}`,
      Number(row.priority),
      row.active === true ? badge('Active', 'good') : badge('Paused', 'warn'),
      html`<a href="${path(`/offers?campaign_id=${row.id}`)}">Offers</a>`,
    ],
    empty: {
      title: 'No campaigns yet',
      text: 'A campaign belongs to an advertiser and says where its offers lead. Offers are its copy.',
    },
    nameOf: (row) => String(row.name),
    blocked: async (context) =>
      (await advertiserChoices(context, '')).length > 0
        ? null
        : emptyState(
            'advertisers',
            'An advertiser comes first',
            'Each campaign belongs to one.',
            linkButton(context.path('/advertisers/new'), 'Add an advertiser', 'main'),
          ),
    initial: (context) => ({ advertiser_id: queryText(context, 'advertiser_id') }),
    toForm: (values, { publisher }) => ({
      ...(values as Record<string, FormValue>),
      tags: Array.isArray(values.tags) ? values.tags.join(', ') : '',
      ...rulesToForm(values.rules, publisher.timeZone),
    }),
    read: (fields, { publisher }) => ({
      advertiser_id: fields.number('advertiser_id'),
      name: fields.text('name'),
      category: fields.text('category'),
      tags: splitList(fields.text('tags')),
      active: fields.checked('active'),
      priority: fields.number('priority'),
      weight: fields.number('weight'),
      is_product: fields.checked('is_product'),
      is_loyalty: fields.checked('is_loyalty'),
      offer_description: fields.text('offer_description'),
      landing_url: fields.text('landing_url'),
      click_id_param: fields.text('click_id_param'),
      opt_out_days: fields.number('opt_out_days'),
      payout_kind: fields.text('payout_kind'),
      payout_amount: fields.number('payout_amount'),
      payout_currency: fields.text('payout_currency').toUpperCase(),
      rules: readRules(fields, publisher.timeZone),
    }),
    fields: async (
      form,
      context,
      editing,
    ) => html`<div class="columns">${form.input('name', { label: 'Name', required: true })}${form.select('advertiser_id', { label: 'Advertiser', choices: await advertiserChoices(context, editing.values.advertiser_id) })}</div>
${form.input('landing_url', { label: 'Landing page', type: 'url', required: true, placeholder: 'https://', hint: html`May hold macros such as <code>{click_id}</code>.` })}
${form.check('active', { label: 'Active', hint: 'Paused campaigns are not shown; links shown before stay good.' })}
<fieldset class="group"><legend>What it pays</legend><div class="columns tight">${form.input('payout_amount', { label: 'Amount', type: 'number', min: 0, step: 'any' })}${form.input('payout_currency', { label: 'Currency' })}${form.select('payout_kind', { label: 'Paid', choices: payoutKinds.map((kind) => ({ value: kind, text: `${kind.toUpperCase()} – ${payouts[kind]}` })) })}</div></fieldset>
<fieldset class="group"><legend>Order</legend><div class="columns tight">${form.input('priority', { label: 'Priority', type: 'number', min: 0, hint: 'Lower is shown first.' })}${form.input('weight', { label: 'Weight', type: 'number', min: 0, hint: 'Among equals, higher first.' })}${form.input('opt_out_days', { label: 'A “no thanks” lasts (days)', type: 'number', min: 1, hint: 'Empty: for good.' })}</div></fieldset>
${rulesFields(form, context.publisher.timeZone)}
<fieldset class="group"><legend>Details</legend><div class="columns">${form.input('category', { label: 'Category' })}${form.input('tags', { label: 'Tags', hint: 'Separated by commas.' })}${form.input('click_id_param', { label: 'Parameter with the click id', code: true })}</div>
${form.area('offer_description', { label: 'Full description' })}
${form.check('is_product', { label: 'Promotes a product' })}${form.check('is_loyalty', { label: 'May be used as an incentive' })}</fieldset>`,
    afterCreate: ({ path }, view) => ({
      to: path(`/offers/new?campaign_id=${view.id}`),
      done: `${String(view.name)} is saved. Next: its first offer.`,
    }),
    notice: async (context, view) => {
      const [warning] = await store.read(actorOf(context), publisherOf(context), (work) =>
        warnOfCurrencies(view, work),
      );
      return warning === undefined
        ? nothing
        : html`<div class="notice warn"><p>The currency ${warning.message}.</p></div>`;
    },
    below: ({ path }, view) =>
      view.deleted_at === null
        ? html`<p>${linkButton(path(`/offers?campaign_id=${view.id}`), 'Offers of this campaign')} ${linkButton(path(`/campaigns/${view.id}/publishers`), 'Publishers it is served to')}</p>`
        : nothing,
  });
}
