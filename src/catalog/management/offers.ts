import { Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../../platform/errors.ts';
import { sanitiseTerms } from '../snapshot/sanitise.ts';
import { checkUrls, flag, httpsUrlOrEmpty, text, weight } from './fields.ts';
import { idSchema, orNull, type Resource, removal, stamps, type Values } from './resource.ts';

/** Lengths up to which a text looks well everywhere (characters; docs/interface.md#text-limits). */
const ideals: Readonly<Record<string, number>> = {
  title: 40,
  description: 140,
  short_headline: 40,
  cta_yes: 20,
  cta_no: 20,
};

const copy = (maxLength: number, name: string, description?: string) =>
  text(maxLength, {
    default: '',
    description: [description, ideals[name] === undefined ? '' : `Ideal: up to ${ideals[name]} characters.`]
      .filter(Boolean)
      .join(' '),
  });

const maxTermsLength = 20_000;

/** One copy variant of a campaign. Limits: docs/interface.md#text-limits. */
export const offers: Resource = {
  name: 'offers',
  noun: 'offer',
  table: 'offers',
  key: 'id',
  permission: 'offers/management',
  input: Type.Object(
    {
      campaign_id: idSchema,
      active: flag(true),
      weight: weight('Among the offers of its campaign, higher is shown first.'),
      title: copy(90, 'title', 'Headline; may hold macros such as `{{first_name|there}}`.'),
      description: copy(220, 'description'),
      mini_text: copy(160, 'mini_text', 'For disclaimers; avoid unless necessary.'),
      short_headline: copy(60, 'short_headline'),
      short_description: copy(140, 'short_description'),
      terms_and_conditions: text(maxTermsLength, {
        default: '',
        description: 'HTML; what is not harmless is taken out when it is saved.',
      }),
      cta_yes: copy(25, 'cta_yes'),
      cta_no: copy(25, 'cta_no'),
      loyalty_requirements: copy(160, 'loyalty_requirements', 'What a user must do to earn the reward.'),
      useraction_cta: orNull(text(100), { default: null }),
      useraction_url: orNull(httpsUrlOrEmpty(), { default: null }),
      adv_pixel_url: httpsUrlOrEmpty("The advertiser's own impression URL; empty: none."),
      wallet_enabled: flag(true),
      offerwall_enabled: flag(true),
    },
    { additionalProperties: false },
  ),
  readOnly: { ...stamps, ...removal },
  removedAt: 'deleted_at',
  fixed: ['campaign_id'],
  references: { campaign_id: { noun: 'campaign', table: 'campaigns', key: 'id', removedAt: 'deleted_at' } },
  sorts: { id: 'integer', title: 'text', weight: 'integer', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['campaign_id', 'active', 'wallet_enabled', 'offerwall_enabled'],
  searched: ['title', 'short_headline', 'description'],
  prepare: (values) =>
    typeof values.terms_and_conditions === 'string' && values.terms_and_conditions.length <= maxTermsLength
      ? { ...values, terms_and_conditions: sanitiseTerms(values.terms_and_conditions) }
      : values,
  check: (values) => checkUrls(values, ['useraction_url', 'adv_pixel_url']),
  warn: warnOfOffer,
};

function warnOfOffer(offer: Values): ErrorDetail[] {
  const tooLong = Object.entries(ideals).flatMap(([name, ideal]) => {
    const length = [...String(offer[name])].length;
    return length <= ideal
      ? []
      : [{ path: `/${name}`, message: `is longer than is ideal: ${length} characters, ideal are up to ${ideal}` }];
  });
  return [
    ...tooLong,
    ...(offer.title === '' ? [{ path: '/title', message: 'is empty: larger formats show a headline' }] : []),
  ];
}
