import { describe, expect, test } from 'vitest';
import type { CampaignRules } from '../../src/catalog/rules.ts';
import type { Campaign, Offer, Publisher } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import { failingRules } from '../../src/decision/explain.ts';
import type { Geo } from '../../src/decision/types.ts';
import { apiReason } from '../../src/offers/fetch/reason-text.ts';
import {
  campaignOf,
  explainAtOnce,
  heldOf,
  type InputOptions,
  inputOf,
  noonMs,
  offersOf,
  pays,
  provisionTo,
  publisherWith,
  sequenceRule,
  useOf,
  withRules,
} from './support.ts';

const reasons = (
  offers: readonly Offer[],
  options: InputOptions = {},
  publisher: Partial<Publisher> = {},
): Record<number, string> =>
  Object.fromEntries(
    explainAtOnce(inputOf(publisherWith(offers, publisher), options)).map(({ offer, reason }) => [
      offer.id,
      apiReason(reason),
    ]),
  );

const reason = (rules: CampaignRules, options: InputOptions = {}, over: Partial<Campaign> = {}): string =>
  reasons(offersOf(withRules(1, rules, over)), options)[1] as string;

const inGeo = (geo: Partial<Geo>): InputOptions => ({
  context: { geo: { country: null, region: null, city: null, postalCode: null, timeZone: null, ...geo } },
});

describe('an offer that is not shown is explained by the first rule that excluded it', () => {
  const us = { targeting: { countries: { include: ['US', 'CA'] } } };
  test.each<[string, string]>([
    ['Country FR is not targeted by the campaign (US, CA).', reason(us, inGeo({ country: 'FR' }))],
    ['The user’s country is unknown, but the campaign targets specific values (US, CA).', reason(us)],
    [
      'Country FR is excluded by the campaign (FR).',
      reason({ targeting: { countries: { exclude: ['FR'] } } }, inGeo({ country: 'FR' })),
    ],
    [
      'City Lyon is not targeted by the campaign (Paris).',
      reason({ targeting: { cities: { include: ['Paris'] } } }, inGeo({ city: 'Lyon' })),
    ],
    [
      'Operating system windows is not targeted by the campaign (ios).',
      reason({ targeting: { os: { include: ['ios'] } } }),
    ],
    ['The campaign starts on 2027-01-01 00:00 UTC.', reason({ schedule: { start_at: '2027-01-01T00:00:00Z' } })],
    ['The campaign ended on 2026-11-21 11:00 UTC.', reason({ schedule: { end_at: '2026-11-21T12:00:00+01:00' } })],
    [
      'Saturday 13:00 (Europe/Berlin) is outside the campaign’s schedule.',
      reason({ schedule: { time_zone: 'Europe/Berlin', hours: [{ days: [6], from: '09:00', to: '13:00' }] } }),
    ],
    [
      'The custom attributes do not meet the campaign’s condition: ' +
        'basket is at least 50 and (tier is gold or vip is set).',
      reason({
        conditions: {
          all: [
            { key: 'basket', op: 'gte', value: 50 },
            {
              any: [
                { key: 'tier', op: 'equals', value: 'gold' },
                { key: 'vip', op: 'exists' },
              ],
            },
          ],
        },
      }),
    ],
    ['The user declined the campaign.', reason({}, { history: { optOuts: { 1: null }, exposures: [] } })],
    [
      'The user declined the campaign and will not see it until 2026-11-21 13:00 UTC.',
      reason({}, { history: { optOuts: { 1: noonMs / 1000 + 3600 }, exposures: [] } }),
    ],
    [
      'The user saw the campaign 2 times within 1 day; the frequency cap is 2.',
      reason(
        { frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 2, window_minutes: 1440 }] },
        {
          history: {
            optOuts: {},
            exposures: [1, 2].map((ago) => ({
              event: 'impression',
              offerId: 7,
              campaignId: 1,
              advertiserId: 1001,
              atMs: noonMs - ago * 1000,
            })),
          },
        },
      ),
    ],
    [
      'Daily budget used up: 99.90 of 100.00 USD since 00:00 (UTC); the remaining 0.10 does not cover the next click ' +
        '(0.25 USD).',
      reason(
        { total_caps: [{ metric: 'budget', per: 'day', limit: 100 }] },
        { totals: new Map([['1', useOf({ budget: { day: 99_900_000 } })]]) },
        { payout: pays('cpc', 0.25) },
      ),
    ],
    [
      'Daily budget: 4.50 of 5.00 USD spent since 00:00 (UTC), and 0.40 reserved for offers that were served and may ' +
        'still be clicked or convert.',
      reason(
        { total_caps: [{ metric: 'budget', per: 'day', limit: 5 }] },
        { totals: new Map([['1', heldOf({ budget: { day: 4_900_000 } }, { budget: { day: 400_000 } })]]) },
        { payout: pays('cpc', 0.25) },
      ),
    ],
    [
      'Lifetime cap: 8 of 10 impressions of the campaign, and 2 reserved for offers that were served and may still ' +
        'count.',
      reason(
        { total_caps: [{ metric: 'impressions', per: 'lifetime', limit: 10 }] },
        { totals: new Map([['1', heldOf({ impressions: { lifetime: 10 } }, { impressions: { lifetime: 2 } })]]) },
      ),
    ],
    [
      'Lifetime cap reached: 10 of 10 clicks of the campaign.',
      reason(
        { total_caps: [{ metric: 'clicks', per: 'lifetime', limit: 10 }] },
        { totals: new Map([['1', useOf({ clicks: { lifetime: 10 } })]]) },
      ),
    ],
    [
      'The campaign is ahead of its pacing plan, so it takes part in only 0.5% of decisions for now.',
      reason(
        { pacing: 'even', total_caps: [{ metric: 'impressions', per: 'day', limit: 100 }] },
        { totals: new Map([['1', useOf({ impressions: { day: 90 } })]]) },
      ),
    ],
    [
      'The user is unknown, and the campaign is not shown to unknown users.',
      reason({ without_identity: 'withhold' }, { context: { userKey: null } }),
    ],
    [
      'The request excludes incentive campaigns (loyaltyboost 0).',
      reason({}, { context: { loyalty: 'none' } }, { isLoyalty: true }),
    ],
    ['The request requires an image, but the offer has none.', reason({}, { context: { onlyWithCreative: true } })],
    ['The request is limited to campaign 7.', reason({}, { context: { campaignId: 7 } })],
    ['The campaign is paused.', reason({}, {}, { active: false })],
    [
      'The campaign is paused for this publisher.',
      reason({}, {}, { provisions: new Map([[1, provisionTo(1, { active: false })]]) }),
    ],
    [
      'The campaign has invalid rules. Open the campaign and save it again.',
      reason({ schedule: { start_at: 'soon' } }),
    ],
    ['Units are disabled.', reasons(offersOf(campaignOf(1)), {}, { unitEnabled: false })[1] as string],
    [
      'The user is outside the delivery percentage: only some users get offers.',
      reasons(offersOf(campaignOf(1)), {}, { deliveryPercentage: 0 })[1] as string,
    ],
  ])('%s', (expected, actual) => {
    expect(actual).toBe(expected);
  });
});

test('an offer is explained by the offer shown in its place', () => {
  const offers = offersOf(
    campaignOf(1, { weight: 900 }),
    campaignOf(2, { advertiserId: 1001, advertiserName: 'Juniper' }),
    withRules(3, { exclusion_groups: ['loans'] }),
    withRules(4, { exclusion_groups: ['loans'] }),
    campaignOf(5, { tags: ['games'] }),
    campaignOf(6),
    campaignOf(7),
  );
  const rules = [sequenceRule(12, { match: { tags: ['games'] } })];
  expect(reasons(offers, { context: { count: 3 } }, { sequenceRules: rules })).toEqual({
    1: 'Shown at position 1.',
    2: 'Another campaign of the advertiser Advertiser 1001 is shown: “Campaign 1”.',
    3: 'Shown at position 2.',
    4: 'Another campaign of the exclusion group loans is shown: “Campaign 3”.',
    5: 'Sequence rule 12 excludes the offer from the remaining positions.',
    6: 'Shown at position 3.',
    7: 'Better offers took all 3 positions.',
  });
});

test('every provisioned offer is explained once, and shown ones match the decision and its scores', () => {
  const offers = offersOf(
    ...Array.from({ length: 200 }, (_, at) =>
      withRules(at + 1, at % 3 === 0 ? { targeting: { countries: { include: ['US'] } } } : {}, {
        active: at % 7 !== 0,
        payout: pays('cpc', (at % 5) / 10),
        priority: at % 2,
      }),
    ),
  );
  for (let seed = 0; seed < 50; seed++) {
    const input = inputOf(publisherWith(offers), { seed });
    const [decision, explanations] = [decide(input), explainAtOnce(input)];
    expect(explanations).toHaveLength(200);
    expect(new Set(explanations.map(({ offer }) => offer.id)).size).toBe(200);
    expect(
      explanations
        .filter(({ position }) => position !== null)
        .map(({ offer, score, position }) => [offer.id, score, position]),
    ).toEqual(decision.offers.map(({ offer, score, position }) => [offer.id, score, position]));
    expect(explanations.every(({ rule, position }) => (rule === null) === (position !== null))).toBe(true);
  }
});

const everything: CampaignRules = {
  targeting: { countries: { include: ['US'] }, cities: { include: ['Boston'] } },
  schedule: { end_at: new Date(noonMs - 1).toISOString() },
  conditions: { key: 'plan', op: 'equals', value: 'pro' },
  frequency_caps: [
    { scope: 'offer', event: 'impression', limit: 1, window_minutes: null },
    { scope: 'campaign', event: 'impression', limit: 1, window_minutes: 60 },
  ],
  total_caps: [
    { metric: 'impressions', per: 'day', limit: 10 },
    { metric: 'clicks', per: 'lifetime', limit: 5 },
  ],
};

const input = inputOf(
  publisherWith(
    offersOf(campaignOf(1, { rules: everything }), campaignOf(2, {}), campaignOf(3, { active: false })),
    {},
  ),
  {
    context: { geo: { country: 'FR', region: null, city: 'Paris', postalCode: null, timeZone: null } },
    history: {
      optOuts: { 1: null },
      exposures: [{ event: 'impression', offerId: 1, campaignId: 1, advertiserId: 1001, atMs: noonMs - 1000 }],
    },
    totals: new Map([['1', useOf({ impressions: { day: 10 }, clicks: { lifetime: 5 } })]]),
  },
);

test('every rule that an offer fails is listed once, in the order of evaluation', () => {
  expect(failingRules(input, 1).map(({ rule }) => rule)).toEqual([
    ...['targeting', 'ended', 'targeting', 'conditions', 'opted_out'],
    ...['frequency_cap', 'frequency_cap', 'total_cap', 'total_cap'],
  ]);
  expect(failingRules(input, 1).map(({ reason }) => apiReason(reason))).toContainEqual(
    'Daily cap reached: 10 of 10 impressions of the campaign since 00:00 (UTC).',
  );
});

test('a decision stops at the first failing rule, and an eligible offer fails none', () => {
  for (const { offer, rule, rank } of explainAtOnce(input)) {
    const failing = failingRules(input, offer.id);
    if (rank === null) expect(failing[0]?.rule, `offer ${offer.id}`).toBe(rule);
    else expect(failing).toEqual([]);
  }
  expect(failingRules(input, 99)).toEqual([]);
});
