import { payoutKinds } from '../../../catalog/rules/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type Choice, columns, type FormBuilder, fieldGroup } from '../../shell/forms.ts';
import { rulesFields } from './rules-form.ts';

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

export const campaignFields = (form: FormBuilder, advertisers: readonly Choice[], timeZone: string): Html => html`
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
  ${fieldGroup('Payout', payoutFields(form))}
  ${fieldGroup('Priority', priorityFields(form))}
  ${rulesFields(form, timeZone)}
  ${detailFields(form)}`;

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

const detailFields = (form: FormBuilder): Html =>
  fieldGroup(
    'Details',
    columns([
      form.input('category', { label: 'Category' }),
      form.input('tags', { label: 'Tags', hint: 'Separated by commas.' }),
      form.input('click_id_param', { label: 'Click id parameter', code: true }),
    ]),
    form.textarea('offer_description', { label: 'Full description' }),
    form.checkbox('is_product', { label: 'Product promotion' }),
    form.checkbox('is_loyalty', { label: 'Eligible as loyalty incentive' }),
  );
