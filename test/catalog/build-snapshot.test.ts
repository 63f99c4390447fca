import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isKnownTo, payoutOf } from '../../src/catalog/provisioning.ts';
import type {
  CampaignRow,
  CatalogRows,
  CreativeRow,
  OfferRow,
  ProvisionRow,
  PublisherRow,
  ThemeRow,
} from '../../src/catalog/snapshot/rows.ts';
import { buildSnapshot } from '../../src/catalog/store.ts';
import type { Offer, Publisher, Snapshot } from '../../src/catalog/types.ts';
import { buildIndex } from '../../src/decision/build-index.ts';
import { indexOf } from '../../src/decision/decide.ts';

const publisherRow = (id: number): PublisherRow => ({
  id,
  name: `Publisher ${id}`,
  sdk_id: String(id).padStart(16, '0'),
  unit_enabled: true,
  offers_per_response: 3,
  time_zone: 'UTC',
  currency_name: 'points',
  currency_multiplier: '1.5000',
  usp_enabled: false,
  wallet_enabled: false,
  offerwall_enabled: false,
  privacy_url: null,
  privacy_text: '',
  delivery_percentage: 100,
  test_mode: false,
  frame_hosts: [],
  default_placement: null,
});

const campaignRow = (over: Partial<CampaignRow> & { id: number }): CampaignRow => ({
  publisher_id: 1,
  advertiser_id: 1,
  advertiser_name: 'Advertiser',
  name: 'Campaign',
  category: '',
  tags: [],
  active: true,
  priority: 100,
  weight: 100,
  is_product: false,
  is_loyalty: false,
  offer_description: '',
  landing_url: 'https://shop.example/',
  click_id_param: 'click_id',
  opt_out_days: null,
  overspend_percent: 0,
  activated_at: null,
  rules: {},
  payout_kind: 'cpc',
  payout_amount: '0.000000',
  payout_currency: 'USD',
  deleted_at: null,
  ...over,
});

const offerRow = (over: Partial<OfferRow> & { id: number; campaign_id: number }): OfferRow => ({
  publisher_id: 1,
  active: true,
  weight: 100,
  title: '',
  description: '',
  mini_text: '',
  short_headline: '',
  short_description: '',
  terms_and_conditions: '',
  cta_yes: '',
  cta_no: '',
  loyalty_requirements: '',
  useraction_cta: null,
  useraction_url: null,
  adv_pixel_url: '',
  wallet_enabled: true,
  offerwall_enabled: true,
  deleted_at: null,
  ...over,
});

const creativeRow = (id: number, offerId: number): CreativeRow => ({
  id,
  offer_id: offerId,
  creative_type: 'icon_image',
  is_primary: false,
  type: 'png',
  width: 10,
  height: 20,
  url: null,
  user_id: 0,
});

const themeRow = (over: Partial<ThemeRow> & { id: number }): ThemeRow => ({
  publisher_id: 1,
  key: `theme-${over.id}`,
  name: 'Theme',
  unit: 'mou',
  is_default: false,
  usp_enabled: false,
  usp_check_all: false,
  offers_per_response: null,
  delivery_percentage: null,
  unit_enabled: null,
  settings: {},
  styles: {},
  appearance: {},
  ...over,
});

const provisionRow = (over: Partial<ProvisionRow> & { campaign_id: number; publisher_id: number }): ProvisionRow => ({
  active: true,
  payout_amount: null,
  priority: null,
  frequency_caps: null,
  total_caps: null,
  ...over,
});

/** Returns catalogue rows in which campaigns are provisioned to their owners, as in the database. */
const rowsWith = (over: Partial<CatalogRows>): CatalogRows => ({
  version: 1,
  publishers: [publisherRow(1), publisherRow(2)],
  keys: [],
  themes: [],
  placements: [],
  campaigns: [],
  provisions: (over.campaigns ?? []).map((campaign) =>
    provisionRow({ campaign_id: campaign.id, publisher_id: campaign.publisher_id }),
  ),
  sequenceRules: [],
  offers: [],
  creatives: [],
  ...over,
});

const build = (rows: CatalogRows): Promise<Snapshot> => buildSnapshot({ rows, buildIndex });

const candidateIds = async (rows: CatalogRows, publisherId: number): Promise<number[]> =>
  indexOf((await build(rows)).publishers.get(publisherId) as Publisher).candidates.map(({ offer }) => offer.id);

describe('the offers of a publisher', () => {
  const removed = fc.constantFrom(null, null, null, new Date(0));
  const campaigns = fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 1, max: 12 }),
      publisher_id: fc.integer({ min: 1, max: 2 }),
      priority: fc.integer({ min: 0, max: 2 }),
      weight: fc.integer({ min: 0, max: 2 }),
      active: fc.boolean(),
      deleted_at: removed,
    }),
    { selector: ({ id }) => id, maxLength: 8 },
  );
  const offers = fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 1, max: 60 }),
      campaign_id: fc.integer({ min: 1, max: 12 }),
      weight: fc.integer({ min: 0, max: 2 }),
      active: fc.boolean(),
      deleted_at: removed,
    }),
    { selector: ({ id }) => id, maxLength: 25 },
  );

  test('are active, and sorted by priority, campaign weight, campaign, offer weight and ID', async () => {
    await fc.assert(
      fc.asyncProperty(campaigns, offers, async (campaignList, offerList) => {
        const publisherOf = new Map(campaignList.map((campaign) => [campaign.id, campaign.publisher_id]));
        const rows = rowsWith({
          campaigns: campaignList.map((campaign) => campaignRow(campaign)),
          offers: offerList.map((offer) =>
            offerRow({ ...offer, publisher_id: publisherOf.get(offer.campaign_id) ?? 1 }),
          ),
        });
        for (const publisherId of [1, 2]) {
          const expected = offerList
            .flatMap((offer) => {
              const campaign = campaignList.find(({ id }) => id === offer.campaign_id);
              return campaign === undefined ? [] : [{ offer, campaign }];
            })
            .filter(({ offer, campaign }) => campaign.publisher_id === publisherId && offer.active && campaign.active)
            .filter(({ offer, campaign }) => offer.deleted_at === null && campaign.deleted_at === null)
            .map(({ offer, campaign }) => ({
              id: offer.id,
              rank: [campaign.priority, -campaign.weight, campaign.id, -offer.weight, offer.id],
            }))
            .sort((a, b) => {
              const at = a.rank.findIndex((value, index) => value !== b.rank[index]);
              return (a.rank[at] as number) - (b.rank[at] as number);
            })
            .map(({ id }) => id);
          expect(await candidateIds(rows, publisherId)).toEqual(expected);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("are only those of campaigns provisioned to it, with the publisher's own priority", async () => {
    const rows = rowsWith({
      campaigns: [
        campaignRow({ id: 1 }),
        campaignRow({ id: 2, publisher_id: 2 }),
        campaignRow({ id: 3, publisher_id: 2 }),
      ],
      offers: [1, 2, 3].map((id) => offerRow({ id, campaign_id: id, publisher_id: id === 1 ? 1 : 2 })),
      provisions: [
        provisionRow({ campaign_id: 1, publisher_id: 1 }),
        provisionRow({ campaign_id: 2, publisher_id: 1, priority: 1, payout_amount: '0.250000' }),
        provisionRow({ campaign_id: 2, publisher_id: 2, active: false }),
      ],
    });
    expect(await candidateIds(rows, 1)).toEqual([2, 1]);
    expect(await candidateIds(rows, 2)).toEqual([]);
    const { offers: built } = await build(rows);
    const foreign = built.get(2) as Offer;
    expect([1, 2, 3].map((publisherId) => isKnownTo(foreign, publisherId))).toEqual([true, true, false]);
    expect([1, 2].map((publisherId) => payoutOf(foreign.campaign, publisherId).amountMicros)).toEqual([250_000, 0]);
  });

  test('remain available by ID when they are paused or removed', async () => {
    const rows = rowsWith({
      campaigns: [campaignRow({ id: 1 }), campaignRow({ id: 2, active: false })],
      offers: [
        offerRow({ id: 1, campaign_id: 1, deleted_at: new Date(0) }),
        offerRow({ id: 2, campaign_id: 1, active: false }),
        offerRow({ id: 3, campaign_id: 2 }),
      ],
    });
    expect(await candidateIds(rows, 1)).toEqual([]);
    expect([...(await build(rows)).offers.keys()]).toEqual([1, 2, 3]);
  });

  test('have their own images, and their campaign has the images of all its offers', async () => {
    const { offers: built } = await build(
      rowsWith({
        campaigns: [campaignRow({ id: 1 })],
        offers: [offerRow({ id: 1, campaign_id: 1 }), offerRow({ id: 2, campaign_id: 1 })],
        creatives: [creativeRow(7, 1), creativeRow(8, 2), creativeRow(9, 2)],
      }),
    );
    expect(built.get(1)?.creatives.map(({ id }) => id)).toEqual([7]);
    expect(built.get(2)?.creatives.map(({ id }) => id)).toEqual([8, 9]);
    expect(built.get(1)?.campaign.creatives.map(({ id }) => id)).toEqual([7, 8, 9]);
    expect(built.get(2)?.campaign).toBe(built.get(1)?.campaign);
  });
});

describe('a publisher', () => {
  test('has its default theme, or else its first theme, or else none', async () => {
    const defaultOf = async (themes: ThemeRow[]) =>
      (await build(rowsWith({ themes }))).publishers.get(1)?.defaultTheme?.id;
    expect(await defaultOf([themeRow({ id: 1 }), themeRow({ id: 2, is_default: true })])).toBe(2);
    expect(await defaultOf([themeRow({ id: 1 }), themeRow({ id: 2 })])).toBe(1);
    expect(await defaultOf([themeRow({ id: 9, publisher_id: 2, is_default: true })])).toBeUndefined();
  });

  test('has only its own themes and placements, and a number for its currency', async () => {
    const snapshot = await build(
      rowsWith({
        themes: [themeRow({ id: 1 }), themeRow({ id: 2, publisher_id: 2 })],
        placements: [
          {
            publisher_id: 1,
            name: 'checkout',
            theme_id: 1,
            offers_per_response: 2,
            delivery_percentage: 50,
            unit_enabled: false,
          },
          {
            publisher_id: 2,
            name: 'account',
            theme_id: null,
            offers_per_response: null,
            delivery_percentage: null,
            unit_enabled: null,
          },
        ],
      }),
    );
    const publisher = snapshot.publishers.get(1);
    expect([...(publisher?.themes.keys() ?? [])]).toEqual([1]);
    expect([...(publisher?.placements.values() ?? [])]).toEqual([
      { name: 'checkout', themeId: 1, offersPerResponse: 2, deliveryPercentage: 50, unitEnabled: false },
    ]);
    expect(publisher?.currencyMultiplier).toBe(1.5);
    expect(snapshot.publishersBySdkId.get('0000000000000001')).toBe(publisher);
  });

  test('has its own API keys, indexed by key hash', async () => {
    const expires = new Date(1_800_000_000_000);
    const key = {
      id: 1,
      name: 'Shop',
      publisher_id: 2,
      key_hash: 'ab',
      permissions: ['reports' as const],
      rate_limit_per_s: 5,
      maker_limits: [{ id: 9, perS: 7 }],
      expires_at: expires,
      read_only: false,
      allowed_addresses: null,
      campaigns: null,
      placements: null,
    };
    const { keys } = await build(rowsWith({ keys: [key] }));
    expect(keys.get('ab')).toEqual({
      id: 1,
      name: 'Shop',
      publisherId: 2,
      permissions: new Set(['reports']),
      rateLimitPerS: 5,
      limits: [
        { id: 1, perS: 5 },
        { id: 9, perS: 7 },
      ],
      expiresAtMs: expires.getTime(),
      restrictions: null,
    });
  });
});
