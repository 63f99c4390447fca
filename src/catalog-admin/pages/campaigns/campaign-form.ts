import type { OwnKind } from '../../../catalog/event-kinds.ts';
import { payoutKinds } from '../../../catalog/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { card, copyable, hiddenField } from '../../../shell/components.ts';
import { type Choice, columns, type FormBuilder, fieldGroup, moreFields } from '../../../shell/forms.ts';
import { goalFields } from './goals.ts';
import type { Picker } from './options.ts';
import { competitionFields, rulesFields } from './rules-form.ts';
import { storedField } from './rules-part.ts';

const payoutChoices = () => payoutKinds.map((kind) => ({ value: kind, text: t(`campaigns.payout_${kind}`) }));

/** Select options and field values for the campaign form. */
type CampaignForm = {
  advertisers: readonly Choice[];
  timeZone: string;
  picker: Picker;
  ownKinds: readonly OwnKind[];
};

export const campaignFields = (
  form: FormBuilder,
  { advertisers, timeZone, picker, ownKinds }: CampaignForm,
): Html => html`
  ${hiddenField(storedField, String(form.values[storedField] ?? '{}'))}
  ${columns([
    form.input('name', { label: t('common.name'), required: true }),
    form.select('advertiser_id', { label: t('campaigns.advertiser'), choices: advertisers }),
  ])}
  ${form.input('landing_url', {
    label: t('campaigns.landingPage'),
    type: 'url',
    required: true,
    placeholder: 'https://',
    hint: tHtml('campaigns.landingPageHint', { macro: '{click_id}' }),
  })}
  ${form.checkbox('active', {
    label: t('campaigns.active'),
    hint: t('campaigns.activeHint'),
  })}
  ${rulesFields(form, timeZone, picker, ownKinds)}
  ${goalFields(form, timeZone)}
  ${fieldGroup(
    t('campaigns.payoutAndPriority'),
    payoutFields(form),
    priorityFields(form),
    competitionFields(form, picker),
  )}
  ${detailFields(form, picker)}`;

const payoutFields = (form: FormBuilder): Html =>
  columns(
    [
      form.input('payout_amount', { label: t('campaigns.amount'), type: 'number', min: 0, step: 'any' }),
      form.input('payout_currency', { label: t('campaigns.currency'), hint: t('campaigns.currencyHint') }),
      form.select('payout_kind', { label: t('campaigns.model'), choices: payoutChoices() }),
    ],
    'tight',
  );

const priorityFields = (form: FormBuilder): Html =>
  columns([
    form.input('priority', {
      label: t('campaigns.priority'),
      type: 'number',
      min: 0,
      hint: t('campaigns.priorityHint'),
    }),
    form.input('weight', { label: t('campaigns.weight'), type: 'number', min: 0, hint: t('campaigns.weightHint') }),
    form.select('ranking', {
      label: t('campaigns.ranking'),
      choices: [
        { value: 'learned', text: t('campaigns.rankingLearned') },
        { value: 'fixed', text: t('campaigns.rankingFixed') },
      ],
      hint: t('campaigns.rankingHint'),
    }),
    form.input('opt_out_days', {
      label: t('campaigns.optOutDays'),
      type: 'number',
      min: 1,
      hint: t('campaigns.optOutHint'),
    }),
  ]);

const detailFields = (form: FormBuilder, picker: Picker): Html =>
  fieldGroup(
    t('campaigns.details'),
    columns([
      form.input('category', { label: t('campaigns.category'), suggestFrom: picker('categories', '').source }),
      form.input('tags', { label: t('campaigns.tags'), picker: picker('tags', form.values.tags) }),
      form.input('click_id_param', { label: t('campaigns.clickIdParam'), code: true }),
    ]),
    form.textarea('offer_description', { label: t('campaigns.fullDescription') }),
    form.checkbox('is_product', { label: t('campaigns.isProduct') }),
    form.checkbox('is_loyalty', { label: t('campaigns.isLoyalty') }),
  );

/** Renders a card that shows the stored rules as JSON, in the API format. */
export const rulesJson = (rules: unknown): Html =>
  card(
    t('campaigns.rulesJson'),
    moreFields(t('campaigns.rulesJsonShow'), copyable(JSON.stringify(rules, null, 2), t('campaigns.rulesJson'))),
  );
