import { postbackEvents } from '../../../catalog/types.ts';
import { readColumns } from '../../../management/read-columns.ts';
import type { Values } from '../../../management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import type { Fields, FormValues } from '../../../shell/context.ts';
import { timeZoneList, timeZoneListId, timeZoneNamed } from '../../../shell/format.ts';
import {
  type Choice,
  columns,
  type FormBuilder,
  fieldGroup,
  fieldGroups,
  joinList,
  splitList,
} from '../../../shell/forms.ts';
import { publishers } from '../../resources/publishers.ts';

const offerCountChoices: Choice[] = Array.from({ length: 10 }, (_, index) => {
  const count = String(index + 1);
  return { value: count, text: count };
});

/** Features that only operators can enable. */
export const features = [
  {
    name: 'usp_enabled',
    label: 'settings.usp',
    hint: 'settings.uspHint',
  },
  { name: 'wallet_enabled', label: 'settings.wallet', hint: 'settings.walletHint' },
  { name: 'offerwall_enabled', label: 'settings.offerwall', hint: 'settings.offerwallHint' },
] as const satisfies readonly { name: string; label: MessageKey; hint: MessageKey }[];

/**
 * Renders the fields for a publisher's settings. If `asOperator` is true, they include the features that only operators
 * can enable. For a new publisher, only the fields that it needs are open.
 */
export const publisherFields = (form: FormBuilder, { asOperator, isNew }: PublisherForm): Html => html`
  ${form.input('name', { label: t('common.name'), required: true })}
  ${fieldGroup(
    t('settings.zoneAndCurrency'),
    columns([
      form.input('time_zone', {
        label: t('settings.timeZone'),
        list: timeZoneListId,
        required: true,
        hint: t('settings.timeZoneHint'),
      }),
      form.input('reporting_currency', {
        label: t('settings.reportingCurrency'),
        hint: t('settings.reportingCurrencyHint'),
      }),
    ]),
    timeZoneList(),
  )}
  ${
    asOperator &&
    fieldGroup(
      t('settings.features'),
      features.map(({ name, label, hint }) => form.checkbox(name, { label: t(label), hint: t(hint) })),
    )
  }
  ${fieldGroups(isNew, [
    [t('nav.offers'), ...offerFields(form)],
    [
      t('settings.loyalty'),
      columns([
        form.input('currency_name', { label: t('settings.loyaltyCurrency'), hint: t('settings.loyaltyCurrencyHint') }),
        form.input('currency_multiplier', {
          label: t('settings.loyaltyRate'),
          type: 'number',
          min: 0,
          step: '0.0001',
        }),
      ]),
    ],
    [t('settings.privacy'), ...privacyFields(form)],
    [
      t('settings.postbacks'),
      html`<p class="hint">${t('settings.postbacksHint')}</p>`,
      postbackEvents.map((event) =>
        form.checkbox(postbackField(event), { label: t('settings.postbackOf', { event }) }),
      ),
    ],
    [
      t('nav.keys'),
      form.input('key_max_days', {
        label: t('settings.keyMaxDays'),
        type: 'number',
        min: 1,
        max: 3650,
        hint: t('settings.keyMaxDaysHint'),
      }),
    ],
    [
      t('settings.approvals'),
      form.checkbox('approval_required', {
        label: t('settings.approvalRequired'),
        hint: t('settings.approvalRequiredHint'),
      }),
      form.checkbox('dates_approved', { label: t('settings.datesApproved'), hint: t('settings.datesApprovedHint') }),
    ],
  ])}`;

type PublisherForm = { asOperator: boolean; isNew: boolean };

const privacyFields = (form: FormBuilder): Html[] => [
  form.input('privacy_url', {
    label: t('settings.privacyUrl'),
    type: 'url',
    hint: t('settings.privacyUrlHint'),
    placeholder: 'https://',
  }),
  form.textarea('privacy_text', {
    label: t('settings.privacyText'),
    rows: 4,
    hint: t('settings.privacyTextHint'),
  }),
  form.select('data_file_user_ids', {
    label: t('settings.dataFileUserIds'),
    choices: [
      { value: 'hashed', text: t('settings.dataFileHashed') },
      { value: 'plain', text: t('settings.dataFilePlain') },
    ],
    hint: t('settings.dataFileUserIdsHint'),
  }),
];

const offerFields = (form: FormBuilder): Html[] => [
  columns([
    form.select('offers_per_response', {
      label: t('settings.offerCount'),
      choices: offerCountChoices,
      hint: t('settings.offerCountHint'),
    }),
    form.input('delivery_percentage', {
      label: t('settings.deliveryPercentage'),
      type: 'number',
      min: 0,
      max: 100,
      hint: t('settings.deliveryPercentageHint'),
    }),
  ]),
  form.input('default_placement', {
    label: t('settings.defaultPlacement'),
    hint: t('settings.defaultPlacementHint'),
  }),
  form.input('learning_excluded_keys', {
    label: t('settings.learningExcludedKeys'),
    hint: t('settings.learningExcludedKeysHint'),
  }),
  form.textarea('allowed_user_agents', {
    label: t('settings.allowedUserAgents'),
    hint: t('settings.allowedUserAgentsHint'),
  }),
  form.checkbox('landing_pages_checked', {
    label: t('settings.landingPagesChecked'),
    hint: t('settings.landingPagesCheckedHint'),
  }),
  form.checkbox('unit_enabled', { label: t('settings.unitsEnabled'), hint: t('settings.unitsEnabledHint') }),
  form.checkbox('test_mode', { label: t('settings.testMode'), hint: t('settings.testModeHint') }),
];

const postbackField = (event: string): string => `postback_events.${event}`;

/** Converts a publisher to form values. */
export const publisherToForm = (values: Values): FormValues => ({
  ...(values as FormValues),
  allowed_user_agents: ((values.allowed_user_agents as string[] | undefined) ?? []).join('\n'),
  learning_excluded_keys: joinList((values.learning_excluded_keys as string[] | undefined) ?? []),
  ...Object.fromEntries(
    postbackEvents.map((event) => [
      postbackField(event),
      ((values.postback_events as string[] | undefined) ?? []).includes(event),
    ]),
  ),
});

/** Columns whose form values are parsed by their schemas. */
const plainColumns = [
  ...['name', 'offers_per_response', 'delivery_percentage', 'default_placement', 'landing_pages_checked'],
  ...['unit_enabled', 'test_mode', 'key_max_days', 'approval_required', 'dates_approved', 'currency_name'],
  ...['currency_multiplier', 'privacy_url', 'privacy_text', 'data_file_user_ids'],
];

export const readPublisher = (fields: Fields, asOperator: boolean): Values => ({
  ...readColumns(publishers, fields, [...plainColumns, ...(asOperator ? features.map(({ name }) => name) : [])]),
  learning_excluded_keys: splitList(fields.text('learning_excluded_keys')),
  allowed_user_agents: fields
    .text('allowed_user_agents')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== ''),
  postback_events: postbackEvents.filter((event) => fields.checked(postbackField(event))),
  time_zone: timeZoneNamed(fields.text('time_zone')),
  reporting_currency: fields.text('reporting_currency').toUpperCase() || null,
});
