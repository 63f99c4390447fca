import { expect, test } from 'vitest';
import type { CampaignRules } from '../../src/catalog/rules.ts';
import { explain } from '../../src/decision/explain.ts';
import { failingRules } from '../../src/decision/failing-rules.ts';
import { apiReason } from '../../src/offers/fetch/reason-text.ts';
import { campaignOf, inputOf, noonMs, offersOf, publisherWith, useOf } from './support.ts';

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

test('every rule that an offer fails is named once, in the order in which they apply', () => {
  expect(failingRules(input, 1).map(({ rule }) => rule)).toEqual([
    ...['targeting', 'ended', 'targeting', 'conditions', 'opted_out'],
    ...['frequency_cap', 'frequency_cap', 'total_cap', 'total_cap'],
  ]);
  expect(failingRules(input, 1).map(({ reason }) => apiReason(reason))).toContain(
    'Daily cap used: 10 of 10 impressions of the campaign since 00:00 in UTC.',
  );
});

test('the first of them is the one that a decision stops at, and who takes part fails none', () => {
  for (const { offer, rule, rank } of explain(input)) {
    const failing = failingRules(input, offer.id);
    if (rank === null) expect(failing[0]?.rule, `offer ${offer.id}`).toBe(rule);
    else expect(failing).toEqual([]);
  }
  expect(failingRules(input, 99)).toEqual([]);
});
