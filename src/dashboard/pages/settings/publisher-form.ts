import type { Values } from '../../../catalog/management/resource.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { Fields } from '../../shell/fields.ts';
import { type Choice, columns, type FormBuilder, fieldGroup } from '../../shell/forms.ts';
import { timeZoneChoices } from '../../shell/time-zones.ts';

const offerCountChoices: Choice[] = Array.from({ length: 10 }, (_, index) => {
  const count = String(index + 1);
  return { value: count, text: count };
});

/** Features only operators enable. */
export const features = [
  {
    name: 'usp_enabled',
    label: 'User Selected Perks',
    hint: 'Users select perks in a multi offer unit; the selection is sent as a webhook.',
  },
  { name: 'wallet_enabled', label: 'Wallet', hint: 'Users save offers for later.' },
  { name: 'offerwall_enabled', label: 'Offerwall', hint: 'A hosted page with all offers.' },
] as const;

/** The settings of a publisher. `asOperator`: with the features. */
export const publisherFields = (form: FormBuilder, asOperator: boolean): Html => html`
  ${form.input('name', { label: 'Name', required: true })}
  ${offerFields(form)}
  ${localeFields(form)}
  ${fieldGroup(
    'Privacy',
    form.input('privacy_url', {
      label: 'Privacy policy URL',
      type: 'url',
      hint: 'Included in every response. Empty: the hosted page.',
      placeholder: 'https://',
    }),
    form.textarea('privacy_text', {
      label: 'Text of the hosted privacy page',
      rows: 4,
      hint: 'Plain text. Empty: the default text.',
    }),
  )}
  ${
    asOperator &&
    fieldGroup(
      'Features',
      features.map(({ name, label, hint }) => form.checkbox(name, { label, hint })),
    )
  }`;

const offerFields = (form: FormBuilder): Html =>
  fieldGroup(
    'Offers',
    columns([
      form.select('offers_per_response', {
        label: 'Number of offers',
        choices: offerCountChoices,
        hint: 'Per response. Themes and placements can override it.',
      }),
      form.input('delivery_percentage', {
        label: 'Delivery percentage',
        type: 'number',
        min: 0,
        max: 100,
        hint: 'Share of users who get offers.',
      }),
    ]),
    form.checkbox('unit_enabled', { label: 'Units enabled', hint: 'Disabled: every response is empty.' }),
    form.checkbox('test_mode', { label: 'Test mode', hint: 'Responses contain test offers and are not tracked.' }),
  );

const localeFields = (form: FormBuilder): Html =>
  fieldGroup(
    'Time zone and currency',
    columns([
      form.select('time_zone', {
        label: 'Time zone',
        choices: timeZoneChoices,
        hint: 'Of reports and of all times in the dashboard.',
      }),
      form.input('currency_name', { label: 'Loyalty currency', hint: 'What users earn, such as points.' }),
      form.input('currency_multiplier', {
        label: 'Loyalty units per payout unit',
        type: 'number',
        min: 0,
        step: '0.0001',
      }),
    ]),
  );

export function readPublisher(fields: Fields, asOperator: boolean): Values {
  return {
    name: fields.text('name'),
    offers_per_response: fields.number('offers_per_response'),
    delivery_percentage: fields.number('delivery_percentage'),
    unit_enabled: fields.checked('unit_enabled'),
    test_mode: fields.checked('test_mode'),
    time_zone: fields.text('time_zone'),
    currency_name: fields.text('currency_name'),
    currency_multiplier: fields.number('currency_multiplier'),
    privacy_url: fields.text('privacy_url') || null,
    privacy_text: fields.text('privacy_text'),
    ...(asOperator && Object.fromEntries(features.map(({ name }) => [name, fields.checked(name)]))),
  };
}
