import { offerLimits } from '../../../catalog/offer-limits.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { columns, type FormBuilder, fieldGroup } from '../../shell/forms.ts';

/** The texts of an offer that users see. */
export const offerTexts = [
  'title',
  'description',
  'short_headline',
  'short_description',
  'cta_yes',
  'cta_no',
  'mini_text',
  'terms_and_conditions',
  'loyalty_requirements',
] as const;

/** Limits: docs/interface.md#text-limits. */
export const offerFields = (form: FormBuilder): Html => html`
  ${copyFields(form)}
  ${fieldGroup(
    'Compact formats',
    form.input('short_headline', { label: 'Short headline', ...offerLimits.short_headline }),
    form.textarea('short_description', { label: 'Short description', ...offerLimits.short_description, rows: 2 }),
  )}
  ${fieldGroup(
    'Legal',
    form.input('mini_text', { label: 'Disclaimer', ...offerLimits.mini_text, hint: 'Only if required.' }),
    form.textarea('terms_and_conditions', {
      label: 'Terms and conditions',
      ...offerLimits.terms_and_conditions,
      rows: 4,
      hint: 'HTML. Unsafe elements are removed on save.',
    }),
    form.input('loyalty_requirements', { label: 'Loyalty requirements', ...offerLimits.loyalty_requirements }),
  )}
  ${servingFields(form)}`;

const copyFields = (form: FormBuilder): Html => html`
  <fieldset class="group first">
    <legend>Copy</legend>
    ${form.input('title', {
      label: 'Headline',
      ...offerLimits.title,
      hint: html`Macros such as <code>{{first_name|there}}</code> are replaced.`,
    })}
    ${form.textarea('description', { label: 'Description', ...offerLimits.description })}
    ${columns([
      form.input('cta_yes', { label: 'Yes button', ...offerLimits.cta_yes }),
      form.input('cta_no', { label: 'No button', ...offerLimits.cta_no }),
    ])}
  </fieldset>`;

const servingFields = (form: FormBuilder): Html =>
  fieldGroup(
    'Serving',
    form.checkbox('active', { label: 'Active' }),
    columns([
      form.input('weight', {
        label: 'Weight',
        type: 'number',
        min: 0,
        hint: 'Among the campaign’s offers, higher is served first.',
      }),
      form.input('adv_pixel_url', { label: 'Advertiser impression URL', type: 'url', placeholder: 'https://' }),
    ]),
    form.checkbox('wallet_enabled', { label: 'Can be saved to the wallet' }),
    form.checkbox('offerwall_enabled', { label: 'Shown on the offerwall' }),
    columns([
      form.input('useraction_cta', { label: 'Secondary action', ...offerLimits.useraction_cta }),
      form.input('useraction_url', { label: 'Secondary action URL', type: 'url', placeholder: 'https://' }),
    ]),
  );
