import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CampaignRules } from '../../src/catalog/rules.ts';
import { apiReason } from '../../src/offers/fetch/reason-text.ts';
import {
  campaignOf,
  explainAtOnce,
  inputOf,
  noonMs,
  offersOf,
  pays,
  publisherWith,
  sequenceRule,
  useOf,
} from './support.ts';

test('the worked example of the guide matches the explanation', () => {
  const guide = readFileSync(new URL('../../docs/guides/how-a-decision-is-made.md', import.meta.url), 'utf8');
  const promised = [...guide.matchAll(/^\| (\d+) \| [^|]+ \| ([^|]+) \|$/gm)].map(([, id, words]) => [
    Number(id),
    words,
  ]);
  const rules: Record<number, CampaignRules> = {
    1: { targeting: { countries: { include: ['US', 'CA'] } } },
    2: { schedule: { time_zone: 'Europe/Berlin', hours: [{ days: [1, 2, 3, 4, 5], from: '08:00', to: '18:00' }] } },
    3: { conditions: { key: 'basket', op: 'gte', value: 50 } },
    4: { frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 1440 }] },
    5: { total_caps: [{ metric: 'budget', per: 'day', limit: 100 }] },
  };
  const offers = offersOf(
    ...[1, 2, 3, 4].map((id) => campaignOf(id, { rules: rules[id] as CampaignRules })),
    campaignOf(5, { rules: rules[5] as CampaignRules, payout: pays('cpc', 0.25) }),
    campaignOf(6, { priority: 10, tags: ['games'] }),
    campaignOf(7, { priority: 50, weight: 900, name: 'Plants', advertiserName: 'Fernhollow' }),
    campaignOf(8, { priority: 60, advertiserId: 1007 }),
    campaignOf(9, { priority: 70 }),
    campaignOf(10, { priority: 80 }),
  );
  const publisher = publisherWith(offers, {
    sequenceRules: [sequenceRule(1, { positions: [1], match: { tags: ['games'] } })],
  });
  const input = inputOf(publisher, {
    context: {
      count: 3,
      custom: new Map([['basket', '35.00']]),
      geo: { country: 'FR', region: null, city: null, postalCode: null, timeZone: null },
    },
    history: {
      optOuts: {},
      exposures: [{ event: 'impression', offerId: 4, campaignId: 4, advertiserId: 1004, atMs: noonMs - 3_600_000 }],
    },
    totals: new Map([['5', useOf({ budget: { day: 99_800_000 } })]]),
  });
  const explained = explainAtOnce(input).map(({ offer, reason }) => [offer.id, apiReason(reason)] as const);
  expect([...explained].sort((a, b) => a[0] - b[0])).toEqual(promised);
  expect(promised).toHaveLength(10);
});
