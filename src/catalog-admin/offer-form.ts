import { offerLimits } from '../catalog/names.ts';
import { type Html, html } from '../platform/http/html.ts';
import { t, tHtml } from '../platform/i18n/messages.ts';
import { columns, type FormBuilder, fieldGroup } from '../shell/forms.ts';

/** Form fields with offer copy that users see. */
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

/** Offer fields that an advertiser can propose. */
export const proposableOfferFields = [
  ...offerTexts,
  ...(['adv_pixel_url', 'language', 'useraction_cta', 'useraction_url'] as const),
] as const;

/** Offer fields in the order of the form, with `image` for the first image of a new offer. */
export const offerFieldOrder: readonly string[] = [
  ...['title', 'description', 'cta_yes', 'cta_no', 'image', 'short_headline', 'short_description', 'mini_text'],
  ...['terms_and_conditions', 'loyalty_requirements', 'active', 'weight', 'adv_pixel_url', 'language'],
  ...['wallet_enabled', 'offerwall_enabled', 'useraction_cta', 'useraction_url', 'translations'],
];

/**
 * Renders the offer fields. For text limits, see docs/reference/themes-and-rendering.md#text-limits. `image` is the
 * upload field for a new offer.
 */
export const offerFields = (form: FormBuilder, image: Html): Html => html`
  ${textFields(form, image)}
  ${servingFields(form)}`;

/** Renders the offer fields that an advertiser can propose. */
export const advertiserOfferFields = (form: FormBuilder, image: Html): Html => html`
  ${textFields(form, image)}
  ${fieldGroup(t('offers.linksAndLanguage'), columns([pixelField(form), languageField(form)]), secondaryAction(form))}`;

const textFields = (form: FormBuilder, image: Html): Html => html`
  ${copyFields(form, image)}
  ${fieldGroup(
    t('offers.compactFormats'),
    form.input('short_headline', { label: t('offers.shortHeadline'), ...offerLimits.short_headline }),
    form.textarea('short_description', {
      label: t('offers.shortDescription'),
      ...offerLimits.short_description,
      rows: 2,
    }),
  )}
  ${fieldGroup(
    t('offers.legal'),
    form.input('mini_text', {
      label: t('offers.disclaimer'),
      ...offerLimits.mini_text,
      hint: t('offers.disclaimerHint'),
    }),
    form.textarea('terms_and_conditions', {
      label: t('offers.terms'),
      ...offerLimits.terms_and_conditions,
      rows: 4,
      hint: t('offers.termsHint'),
    }),
    form.input('loyalty_requirements', { label: t('offers.loyaltyRequirements'), ...offerLimits.loyalty_requirements }),
  )}`;

/** Renders the fields for the headline and the description of an offer. */
export const mainTexts = (form: FormBuilder): Html => html`
  ${form.input('title', {
    label: t('offers.headline'),
    ...offerLimits.title,
    hint: tHtml('offers.macrosHint', { macro: '{{first_name|there}}' }),
  })}
  ${form.textarea('description', { label: t('offers.description'), ...offerLimits.description })}`;

const copyFields = (form: FormBuilder, image: Html): Html =>
  fieldGroup(
    t('offers.texts'),
    mainTexts(form),
    columns([
      form.input('cta_yes', { label: t('offers.yesButton'), ...offerLimits.cta_yes }),
      form.input('cta_no', { label: t('offers.noButton'), ...offerLimits.cta_no }),
    ]),
    image,
  );

const servingFields = (form: FormBuilder): Html =>
  fieldGroup(
    t('offers.serving'),
    form.checkbox('active', { label: t('campaigns.active') }),
    columns([
      form.input('weight', {
        label: t('campaigns.weight'),
        type: 'number',
        min: 0,
        hint: t('offers.weightHint'),
      }),
      pixelField(form),
      languageField(form),
    ]),
    form.checkbox('wallet_enabled', { label: t('offers.walletEnabled') }),
    form.checkbox('offerwall_enabled', { label: t('offers.offerwallEnabled') }),
    secondaryAction(form),
  );

const pixelField = (form: FormBuilder): Html =>
  form.input('adv_pixel_url', { label: t('offers.advertiserPixel'), type: 'url', placeholder: 'https://' });

const languageField = (form: FormBuilder): Html =>
  form.input('language', { label: t('offers.language'), hint: t('offers.languageHint') });

const secondaryAction = (form: FormBuilder): Html =>
  columns([
    form.input('useraction_cta', { label: t('offers.secondaryAction'), ...offerLimits.useraction_cta }),
    form.input('useraction_url', { label: t('offers.secondaryActionUrl'), type: 'url', placeholder: 'https://' }),
  ]);
