import { Type } from '@sinclair/typebox';
import { idealLengthOf, type LimitedText, offerLimits, pixelMacros } from '../../catalog/names.ts';
import {
  checkLanguage,
  checkUrls,
  flag,
  httpsUrlOrEmpty,
  languageTag,
  text,
  weight,
  withCanonicalLanguage,
} from '../../management/fields.ts';
import {
  idSchema,
  orNull,
  type Resource,
  removal,
  stamps,
  stopExpressions,
  stopFields,
  type Values,
  type Warning,
} from '../../management/resource.ts';
import { warnOfMacros } from '../../platform/lib/misspelt-macros.ts';
import { problem } from '../../platform/problem.ts';
import { requireApproval } from '../approval.ts';
import { warnOfLanguages } from './language-warnings.ts';
import {
  checkTranslations,
  prepareTranslations,
  translationsSchema,
  warnOfTranslations,
  withCleanTerms,
} from './translations.ts';

const copy = (name: LimitedText, description?: string) => {
  const ideal = idealLengthOf(name);
  return text(offerLimits[name].maxLength, {
    default: '',
    description: [description, ideal === null ? '' : `Ideal: up to ${ideal} characters.`].filter(Boolean).join(' '),
  });
};

/**
 * Offer resource: one variant of a campaign's copy. For text limits, see
 * docs/reference/themes-and-rendering.md#text-limits.
 */
export const offers: Resource = {
  name: 'offers',
  noun: 'offer',
  schemaName: 'CatalogueOffer',
  table: 'offers',
  key: 'id',
  within: { campaign: 'campaign_id' },
  permission: 'offers/management',
  input: Type.Object(
    {
      campaign_id: idSchema,
      active: flag(true),
      weight: weight('Weight among the offers of the campaign. Higher weights are shown first if no offer pays.'),
      title: copy('title', 'Headline; may hold macros such as `{{first_name|there}}`.'),
      description: copy('description'),
      mini_text: copy('mini_text', 'Short disclaimer. Avoid it unless necessary.'),
      short_headline: copy('short_headline'),
      short_description: copy('short_description'),
      terms_and_conditions: text(offerLimits.terms_and_conditions.maxLength, {
        default: '',
        description: 'Terms and conditions as HTML. Unsafe elements are removed when the offer is saved.',
      }),
      cta_yes: copy('cta_yes'),
      cta_no: copy('cta_no'),
      loyalty_requirements: copy('loyalty_requirements', 'What a user must do to earn the reward.'),
      useraction_cta: orNull(text(offerLimits.useraction_cta.maxLength), { default: null }),
      useraction_url: orNull(httpsUrlOrEmpty(), { default: null }),
      adv_pixel_url: httpsUrlOrEmpty('Impression URL of the advertiser; empty for none.'),
      wallet_enabled: flag(true),
      offerwall_enabled: flag(true),
      language: orNull(languageTag(), {
        default: null,
        description: "Language of the offer's copy, as a BCP 47 tag. `null` for the publisher's language.",
      }),
      translations: translationsSchema,
    },
    { additionalProperties: false },
  ),
  readOnly: { ...stopFields, ...stamps, ...removal },
  expressions: stopExpressions,
  removedAt: 'deleted_at',
  fixed: ['campaign_id'],
  references: {
    campaign_id: {
      noun: 'campaign',
      table: 'campaigns',
      key: 'id',
      removedAt: 'deleted_at',
      within: { campaign: 'id' },
    },
  },
  sorts: { id: 'integer', title: 'text', weight: 'integer', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['campaign_id', 'active', 'stopped', 'wallet_enabled', 'offerwall_enabled'],
  searched: ['title', 'short_headline', 'description'],
  prepare: (values) => prepareTranslations(withCleanTerms(withCanonicalLanguage(values))),
  checksAnyShape: true,
  check: (values) => [
    ...checkUrls(values, ['useraction_url', 'adv_pixel_url']),
    ...checkLanguage(values),
    ...checkTranslations(values),
  ],
  warnOfUrls,
  warn: warnOfOffer,
  beforeSave: (work, values, current) => requireApproval('offers', work, values, current),
};

/** Returns warnings about macros in the offer's URLs that will not be replaced. */
export function warnOfUrls(offer: Values): Warning[] {
  return [
    ...warnOfMacros('/useraction_url', offer.useraction_url, { names: [], others: 'sent' }),
    ...warnOfMacros('/adv_pixel_url', offer.adv_pixel_url, { names: pixelMacros, others: 'sent' }),
  ];
}

function warnOfOffer(offer: Values): Warning[] {
  const tooLong = (Object.keys(offerLimits) as LimitedText[]).flatMap((name) => {
    const ideal = idealLengthOf(name);
    const length = [...String(offer[name])].length;
    return ideal === null || length <= ideal
      ? []
      : [{ path: `/${name}`, message: problem('longerThanIdeal', { length, ideal }) }];
  });
  return [
    ...tooLong,
    ...warnOfUrls(offer),
    ...warnOfLanguages(offer),
    ...warnOfTranslations(offer),
    ...(offer.title === '' ? [{ path: '/title', message: problem('emptyHeadline') }] : []),
  ];
}
