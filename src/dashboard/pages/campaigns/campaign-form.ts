import { payoutKinds } from '../../../catalog/rules/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { hiddenField } from '../../shell/actions.ts';
import { card, copyable } from '../../shell/components.ts';
import { type Choice, columns, type FormBuilder, fieldGroup, moreFields } from '../../shell/forms.ts';
import type { Picker } from './options.ts';
import { competitionFields, rulesFields } from './rules-form.ts';
import { storedField } from './rules-part.ts';

const payoutTexts: Record<(typeof payoutKinds)[number], string> = {
  cpc: 'per click',
  cpa: 'per action',
  cpm: 'per 1,000 impressions',
  cps: 'percent of sale',
};

const payoutChoices = payoutKinds.map((kind) => ({
  value: kind,
  text: `${kind.toUpperCase()} – ${payoutTexts[kind]}`,
}));

/** What the form of a campaign is made of. */
type CampaignForm = { advertisers: readonly Choice[]; timeZone: string; picker: Picker };

export const campaignFields = (form: FormBuilder, { advertisers, timeZone, picker }: CampaignForm): Html => html`
  ${hiddenField(storedField, String(form.values[storedField] ?? '{}'))}
  ${columns([
    form.input('name', { label: 'Name', required: true }),
    form.select('advertiser_id', { label: 'Advertiser', choices: advertisers }),
  ])}
  ${form.input('landing_url', {
    label: 'Landing page',
    type: 'url',
    required: true,
    placeholder: 'https://',
    hint: html`Macros such as <code>{click_id}</code> are replaced on click.`,
  })}
  ${form.checkbox('active', {
    label: 'Active',
    hint: 'Paused campaigns are not served. Links already served keep working.',
  })}
  ${rulesFields(form, timeZone, picker)}
  ${fieldGroup('Payout and priority', payoutFields(form), priorityFields(form), competitionFields(form, picker))}
  ${detailFields(form, picker)}`;

const payoutFields = (form: FormBuilder): Html =>
  columns(
    [
      form.input('payout_amount', { label: 'Amount', type: 'number', min: 0, step: 'any' }),
      form.input('payout_currency', { label: 'Currency' }),
      form.select('payout_kind', { label: 'Model', choices: payoutChoices }),
    ],
    'tight',
  );

const priorityFields = (form: FormBuilder): Html =>
  columns(
    [
      form.input('priority', { label: 'Priority', type: 'number', min: 0, hint: 'Lower is served first.' }),
      form.input('weight', { label: 'Weight', type: 'number', min: 0, hint: 'Higher is served first among equals.' }),
      form.input('opt_out_days', {
        label: 'Opt-out after “No” (days)',
        type: 'number',
        min: 1,
        hint: 'Empty: permanent.',
      }),
    ],
    'tight',
  );

const detailFields = (form: FormBuilder, picker: Picker): Html =>
  fieldGroup(
    'Details',
    columns([
      form.input('category', { label: 'Category', suggestFrom: picker('categories', '').source }),
      form.input('tags', { label: 'Tags', picker: picker('tags', form.values.tags) }),
      form.input('click_id_param', { label: 'Click id parameter', code: true }),
    ]),
    form.textarea('offer_description', { label: 'Full description' }),
    form.checkbox('is_product', { label: 'Product promotion' }),
    form.checkbox('is_loyalty', { label: 'Eligible as loyalty incentive' }),
  );

/** The stored rules as the API has them. */
export const rulesJson = (rules: unknown): Html =>
  card(
    'Rules as JSON',
    moreFields('Show what the management API returns', copyable(JSON.stringify(rules, null, 2), 'Rules as JSON')),
  );
