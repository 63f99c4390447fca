import type { Values } from '../../../catalog/management/resource.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { Fields, FormBuilder } from '../../shell/forms.ts';

const zones = Intl.supportedValuesOf('timeZone');
const zoneChoices = ['UTC', ...zones.filter((zone) => zone !== 'UTC')].map((zone) => ({
  value: zone,
  text: zone.replaceAll('_', ' '),
}));

const offerChoices = Array.from({ length: 10 }, (_, index) => ({ value: String(index + 1), text: String(index + 1) }));

/** What an operator enables for a publisher. */
const enablings = [
  {
    name: 'usp_enabled',
    label: 'User Selected Perks',
    hint: 'Users tick perks in a multi unit; the choice is sent as a webhook.',
  },
  { name: 'wallet_enabled', label: 'Wallet', hint: 'Users save offers for later.' },
  { name: 'offerwall_enabled', label: 'Offerwall', hint: 'A hosted page with all offers.' },
] as const;

/** The settings of a publisher. `asOperator`: with what only operators set. */
export function publisherFields(
  form: FormBuilder,
  { asOperator, timeZone }: { asOperator: boolean; timeZone: string },
): Html {
  const choices = zoneChoices.some(({ value }) => value === timeZone)
    ? zoneChoices
    : [{ value: timeZone, text: timeZone }, ...zoneChoices];
  return html`${form.input('name', { label: 'Name', required: true })}
<fieldset class="group"><legend>Offers</legend><div class="columns">
${form.select('offers_per_response', { label: 'Number of offers', choices: offerChoices, hint: 'In one answer. Themes and placements may differ.' })}
${form.input('delivery_percentage', { label: 'Delivery percentage', type: 'number', min: 0, most: 100, hint: 'Of users, how many get offers.' })}</div>
${form.check('unit_enabled', { label: 'Unit on', hint: 'Off: every answer is an empty list.' })}
${form.check('test_mode', { label: 'Test mode', hint: 'Every answer is a test answer; nothing is counted.' })}</fieldset>
<fieldset class="group"><legend>Time and money</legend><div class="columns">
${form.select('time_zone', { label: 'Time zone', choices, hint: 'Of reports, and of all times here.' })}
${form.input('currency_name', { label: 'Loyalty currency', hint: 'What users earn, such as points.' })}
${form.input('currency_multiplier', { label: 'Units for one of payout', type: 'number', min: 0, step: '0.0001' })}</div></fieldset>
<fieldset class="group"><legend>Privacy</legend>
${form.input('privacy_url', { label: 'Privacy policy URL', type: 'url', hint: 'Sent with every answer. Empty: the page of this service.', placeholder: 'https://' })}
${form.area('privacy_text', { label: 'Text of that page', rows: 4, hint: 'Plain text. Empty: our own.' })}</fieldset>
${asOperator ? html`<fieldset class="group"><legend>Enabled by the operator</legend>${enablings.map(({ name, label, hint }) => form.check(name, { label, hint }))}</fieldset>` : nothing}`;
}

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
    ...(asOperator && Object.fromEntries(enablings.map(({ name }) => [name, fields.checked(name)]))),
  };
}
