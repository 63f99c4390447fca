import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Campaign, Creative, Offer } from '../../src/catalog/types.ts';
import { type PerkContext, type PerkSession, perksOf } from '../../src/perks/confirmed-perk.ts';
import { buildUspPayload } from '../../src/perks/usp-selection.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import type { TokenClaims } from '../../src/platform/security/tracking-token.ts';
import { publisherWith } from '../decision/support.ts';

const icon: Creative = {
  id: 31,
  creativeType: 'icon_image',
  isPrimary: true,
  type: 'png',
  width: 300,
  height: 200,
  url: null,
  language: null,
  userId: 9,
};
const hero: Creative = {
  id: 32,
  creativeType: 'hero_image',
  isPrimary: false,
  type: 'jpg',
  width: 1600,
  height: 900,
  url: 'https://cdn.test/h.jpg',
  language: null,
  userId: 9,
};

const campaignOf = (id: number): Campaign => ({
  id,
  publisherId: 1,
  advertiserId: 4,
  advertiserName: `Advertiser ${id}`,
  advertiserEvents: [],
  name: 'internal',
  category: 'food',
  tags: ['coffee', 'new'],
  active: true,
  stopped: null,
  priority: 1,
  weight: 1,
  ranking: 'learned',
  isProduct: true,
  isLoyalty: true,
  offerDescription: 'The full description',
  landingUrl: 'https://shop.test/',
  clickIdParam: 'click_id',
  optOutDays: null,
  overspendPercent: 0,
  goal: null,
  activatedAtMs: null,
  payout: { kind: 'cpc', amountMicros: 0, currency: 'USD' },
  rules: {},
  provisions: new Map(),
  creatives: [icon, hero],
});

const offerOf = (id: number, changes: Partial<Offer> = {}): Offer => ({
  id,
  publisherId: 1,
  campaign: campaignOf(id * 10),
  active: true,
  stopped: null,
  weight: 1,
  language: null,
  translations: null,
  copy: {
    title: 'Free coffee, {{name|friend}}',
    description: 'Alternate description',
    miniText: 'Once a person',
    shortHeadline: 'Coffee',
    shortDescription: 'A free cup',
    ctaYes: 'Yes please',
    ctaNo: 'No thanks',
  },
  termsAndConditions: '<p>Terms “ü”</p>',
  loyaltyRequirements: 'Buy one',
  useractionCta: 'Call',
  useractionUrl: 'https://shop.test/call',
  advPixelUrl: 'https://adv.test/p.gif',
  walletEnabled: true,
  offerwallEnabled: true,
  creatives: [icon],
  coupon: null,
  ...changes,
});

const publisher = publisherWith([], { uspEnabled: true, walletEnabled: true, offerwallEnabled: true });

const claimsText = ({ publisherId, sessionId, offerId, campaignId, position, dev }: TokenClaims): string =>
  [publisherId, sessionId, offerId, campaignId, position, dev].join('_');
const session = {
  id: newUuid7(0),
  pubUserId: 'u-1',
  offerIds: [1, 2, 3],
  campaignIds: [10, 20, 30],
  macros: { name: 'Ann & Co' },
  language: null,
  dev: false,
};
const catalogue = (...offers: Offer[]) => ({
  publisher,
  offers: new Map(offers.map((offer) => [offer.id, offer])),
  tokens: { mint: claimsText },
  publicUrl: 'https://perks.test',
});
const context = catalogue(offerOf(1), offerOf(2), offerOf(3));

const payloadOf = (of: PerkSession, selected: readonly number[], perkContext: PerkContext): Buffer =>
  buildUspPayload(of, perksOf(of, selected, perkContext));

const parse = (bytes: Buffer) => JSON.parse(bytes.toString('utf8'));

const creativeTypes = {
  id: 'integer',
  url: 'url',
  height: 'integer',
  width: 'integer',
  type: 'string',
  is_primary: 'boolean',
  aspect_ratio: 'number',
  creative_type: 'string',
  user_id: 'integer',
};

/**
 * Expected types, documented in docs/reference/webhooks.md#usp-webhook-payload and
 * docs/reference/access-and-errors.md#legacy-names.
 */
const campaignTypes = {
  campaign_id: 'integer',
  advertiser_name: 'string',
  title: 'string',
  short_headline: 'string',
  short_description: 'string',
  offer_description: 'string',
  description: 'string',
  terms_and_conditions: 'string',
  click_url: 'url',
  cta_yes: 'string',
  cta_no: 'string',
  mini_text: 'string',
  image: 'string',
  pixel: 'string',
  adv_pixel_url: 'string',
  save_for_later_url: 'string',
  is_loyalty: 'boolean',
  is_loyaltyboost: 'boolean',
  loyalty_requirements: 'object',
  loyaltyboost_requirements: 'object',
  offerwall_enabled: 'boolean',
  wallet_enabled: 'boolean',
  perkswallet_enabled: 'boolean',
  tags: 'array',
  beacons: 'object',
  creatives: 'array',
  useraction_cta: 'string or null',
  useraction_url: 'string or null',
  campaign: 'object',
};

function expectTypes(value: Record<string, unknown>, types: Record<string, string>): void {
  expect(Object.keys(value).sort()).toEqual(Object.keys(types).sort());
  for (const [name, type] of Object.entries(types))
    expect(isOf(type, value[name]), `${name} is ${JSON.stringify(value[name])}`).toBe(true);
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type === 'url') return typeof value === 'string' && URL.canParse(value);
  if (type === 'string or null') return value === null || typeof value === 'string';
  return typeof value === type;
}

describe('the webhook payload', () => {
  test.each([
    ['an offer with all fields', offerOf(1)],
    [
      'an offer without optional fields',
      offerOf(1, {
        creatives: [],
        useractionCta: null,
        useractionUrl: null,
        advPixelUrl: '',
        loyaltyRequirements: '',
        walletEnabled: false,
      }),
    ],
  ])('has every documented field with its type for %s', (_what, offer) => {
    const { body, ...rest } = parse(payloadOf(session, [10], catalogue(offer)));
    expect(rest).toEqual({});
    expectTypes(body, { pub_user_id: 'string', selected: 'integer', session_id: 'string', campaigns: 'array' });
    const [campaign] = body.campaigns;
    expectTypes(campaign, campaignTypes);
    expectTypes(campaign.beacons, { close: 'url', no_thanks_click: 'url' });
    expectTypes(campaign.campaign, { is_product: 'boolean', offer_description: 'string', campaign_images: 'array' });
    expect(campaign.creatives).toHaveLength(offer.creatives.length);
    for (const creative of [...campaign.creatives, ...campaign.campaign.campaign_images])
      expectTypes(creative, creativeTypes);
    expect(campaign.campaign.campaign_images).toHaveLength(2);
  });

  test("contains the offer's texts", () => {
    const [campaign] = parse(payloadOf(session, [20], context)).body.campaigns;
    const token = `1_${session.id}_2_20_2_false`;
    expect(campaign).toMatchObject({
      campaign_id: 20,
      advertiser_name: 'Advertiser 20',
      title: 'Free coffee, Ann &amp; Co',
      description: 'Alternate description',
      offer_description: 'The full description',
      terms_and_conditions: '<p>Terms “ü”</p>',
      click_url: `https://perks.test/sdk/offer-click?t=${token}`,
      image: 'https://perks.test/images/31.png',
      pixel: `https://perks.test/sdk/v2/impression/p.png?t=${token}&cbuster=%7Bcbuster%7D`,
      adv_pixel_url: 'https://adv.test/p.gif',
      save_for_later_url: `https://perks.test/wallet/v1/save.json?t=${token}`,
      is_loyalty: true,
      is_loyaltyboost: true,
      loyalty_requirements: { text: 'Buy one' },
      loyaltyboost_requirements: { text: 'Buy one' },
      wallet_enabled: true,
      perkswallet_enabled: true,
      tags: ['coffee', 'new'],
      useraction_cta: 'Call',
      useraction_url: 'https://shop.test/call',
      creatives: [{ id: 31, creative_type: 'icon_image', user_id: 9, aspect_ratio: 1.5 }],
    });
  });

  test('is valid without any selection', () => {
    expect(parse(payloadOf(session, [], context))).toEqual({
      body: { pub_user_id: 'u-1', selected: 0, session_id: session.id, campaigns: [] },
    });
  });

  test('sends an empty object as loyalty_requirements if the offer has none', () => {
    const [campaign] = parse(payloadOf(session, [10], catalogue(offerOf(1, { loyaltyRequirements: '' })))).body
      .campaigns;
    expect(campaign).toMatchObject({ loyalty_requirements: {}, loyaltyboost_requirements: {} });
  });

  test('marks the URLs of a dev session', () => {
    const [campaign] = parse(payloadOf({ ...session, dev: true }, [10], context)).body.campaigns;
    expect(campaign.click_url).toContain(`1_${session.id}_1_10_1_true`);
  });

  test('contains no QR code and no offerwall URL', () => {
    const text = payloadOf(session, [10], context).toString();
    expect(text).not.toContain('qr_code_img');
    expect(text).not.toContain('offerwall_url');
  });

  test('keeps a selected offer that has left the catalogue, with IDs, working URLs and empty texts', () => {
    const [gone, current] = parse(payloadOf(session, [10, 20], catalogue(offerOf(2)))).body.campaigns;
    expectTypes(gone, campaignTypes);
    expect(gone).toMatchObject({
      campaign_id: 10,
      title: '',
      advertiser_name: '',
      terms_and_conditions: '',
      image: '',
      creatives: [],
      tags: [],
    });
    expect(gone).toMatchObject({
      loyalty_requirements: {},
      save_for_later_url: '',
      useraction_cta: null,
      wallet_enabled: false,
    });
    expect(gone.click_url).toContain(`1_${session.id}_1_10_1_false`);
    expect(current).toMatchObject({ campaign_id: 20, advertiser_name: 'Advertiser 20' });
  });

  test('lists any selection in display order, without offers that were not shown', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<number>(10, 20, 30, 40)), (selected) => {
        const { body } = parse(payloadOf(session, selected, context));
        const expected = [10, 20, 30].filter((id) => selected.includes(id));
        expect(body.campaigns.map((campaign: { campaign_id: number }) => campaign.campaign_id)).toEqual(expected);
        expect(body.selected).toBe(expected.length > 0 ? 1 : 0);
      }),
    );
  });
});
