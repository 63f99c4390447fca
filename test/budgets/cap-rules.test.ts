import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reachedFrequencyCap } from '../../src/budgets/cap-rules.ts';
import { type CapUsage, type Exposure, totalsKey } from '../../src/budgets/caps.ts';
import type { FrequencyCap, TotalCap } from '../../src/catalog/rules.ts';
import { decide } from '../../src/decision/decide.ts';
import { mix } from '../../src/decision/random.ts';
import {
  campaignOf,
  decideOfferIds,
  inputOf,
  noonMs,
  offerOf,
  offersOf,
  pays,
  provisionTo,
  publisherWith,
  shownBy,
  useOf,
  withRules,
} from '../decision/support.ts';

const minuteMs = 60_000;

describe('frequency caps', () => {
  test('match a model that recounts everything, over 100,000 random operations', () => {
    // Eight offers in four campaigns of two advertisers. Each campaign has several caps.
    const events = ['impression', 'click', 'no_thanks', 'conversion'] as const;
    const scopes = ['offer', 'campaign', 'advertiser'] as const;
    const windows = [1, 7, 60, 1440, null];
    let step = 0;
    const random = (below: number): number => mix(20_261_121, step++) % below;
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    const campaigns = [1, 2, 3, 4].map((id) => campaignOf(id, { advertiserId: id % 2 }));
    const offers = campaigns.flatMap((campaign) => [
      offerOf(campaign.id * 10, campaign),
      offerOf(campaign.id * 10 + 1, campaign),
    ]);

    let operations = 0;
    while (operations < 100_000) {
      const caps: FrequencyCap[] = Array.from({ length: 1 + random(4) }, () => ({
        scope: pick(scopes),
        event: pick(events),
        limit: 1 + random(6),
        window_minutes: pick(windows),
      }));
      const log: Exposure[] = [];
      let nowMs = noonMs;
      for (let turn = 0; turn < 100; turn++, operations++) {
        nowMs += pick([0, 1, 1000, minuteMs - 1, minuteMs, 10 * minuteMs, 700 * minuteMs]);
        const offer = pick(offers);
        const allowed = reachedFrequencyCap(caps, offer, log, nowMs) === null;
        // Reference model: evaluate each cap by filtering the log over its exact time window.
        const expected = caps.every((cap) => {
          const matches = log.filter((entry) => {
            const inScope =
              cap.scope === 'offer'
                ? entry.offerId === offer.id
                : cap.scope === 'campaign'
                  ? entry.campaignId === offer.campaign.id
                  : entry.advertiserId === offer.campaign.advertiserId;
            const ageMs = nowMs - entry.atMs;
            return (
              inScope &&
              entry.event === cap.event &&
              (cap.window_minutes === null || ageMs < cap.window_minutes * minuteMs)
            );
          });
          return matches.length < cap.limit;
        });
        if (allowed !== expected) expect({ caps, offer: offer.id, log, nowMs, allowed }).toBe(expected);
        if (allowed || random(3) === 0) {
          log.push({
            event: allowed ? 'impression' : pick(events),
            offerId: offer.id,
            campaignId: offer.campaign.id,
            advertiserId: offer.campaign.advertiserId,
            atMs: nowMs,
          });
        }
      }
    }
  });

  test('are never exceeded in any window if each response is recorded', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 30 }),
        fc.array(fc.integer({ min: 0, max: 20 * minuteMs }), { maxLength: 60 }),
        (limit, window_minutes, gaps) => {
          const publisher = publisherWith(
            offersOf(
              withRules(1, { frequency_caps: [{ scope: 'campaign', event: 'impression', limit, window_minutes }] }),
            ),
          );
          const exposures: Exposure[] = [];
          let nowMs = noonMs;
          for (const gap of gaps) {
            nowMs += gap;
            if (
              decide(inputOf(publisher, { context: { nowMs }, history: { optOuts: {}, exposures } })).offers.length > 0
            )
              exposures.push({ event: 'impression', offerId: 1, campaignId: 1, advertiserId: 1001, atMs: nowMs });
          }
          for (const { atMs } of exposures)
            expect(
              exposures.filter((entry) => entry.atMs > atMs - window_minutes * minuteMs && entry.atMs <= atMs).length,
            ).toBeLessThanOrEqual(limit);
        },
      ),
    );
  });

  test('count old exposures that are stored as one entry', () => {
    const cap: FrequencyCap = { scope: 'offer', event: 'click', limit: 5, window_minutes: null };
    const old: Exposure = { event: 'click', offerId: 1, campaignId: 1, advertiserId: 1001, atMs: 0, count: 5 };
    expect(reachedFrequencyCap([cap], offerOf(1, campaignOf(1)), [old], noonMs)).toEqual({ cap, count: 5 });
    expect(reachedFrequencyCap([cap], offerOf(1, campaignOf(1)), [{ ...old, count: 4 }], noonMs)).toBeNull();
  });

  test("are those of the publisher's provisioning, if it has any, instead of the campaign's", () => {
    const once: FrequencyCap = { scope: 'campaign', event: 'impression', limit: 1, window_minutes: null };
    const exposure: Exposure = { event: 'impression', offerId: 1, campaignId: 1, advertiserId: 1001, atMs: noonMs };
    const history = { optOuts: {}, exposures: [exposure] };
    expect(decideOfferIds(offersOf(withRules(1, { frequency_caps: [once] })), { history })).toEqual([]);
    const provisions = new Map([[1, provisionTo(1, { frequencyCaps: [{ ...once, limit: 2 }] })]]);
    expect(decideOfferIds(offersOf(withRules(1, { frequency_caps: [once] }, { provisions })), { history })).toEqual([
      1,
    ]);
    expect(
      decideOfferIds(
        offersOf(campaignOf(1, { provisions: new Map([[1, provisionTo(1, { frequencyCaps: [once] })]]) })),
        {
          history,
        },
      ),
    ).toEqual([]);
  });
});

describe('total caps', () => {
  const served = (cap: TotalCap, use: CapUsage, amount = 0.5): boolean =>
    decideOfferIds(offersOf(withRules(1, { total_caps: [cap] }, { payout: pays('cpc', amount) })), {
      totals: new Map([['1', use]]),
    }).length === 1;

  test('allow the last event that fits, and no more', () => {
    for (const per of ['hour', 'day', 'month', 'lifetime'] as const) {
      expect(served({ metric: 'impressions', per, limit: 10 }, useOf({ impressions: { [per]: 9 } }))).toBe(true);
      expect(served({ metric: 'impressions', per, limit: 10 }, useOf({ impressions: { [per]: 10 } }))).toBe(false);
      expect(served({ metric: 'budget', per, limit: 10 }, useOf({ budget: { [per]: 9_500_000 } }))).toBe(true);
      expect(served({ metric: 'budget', per, limit: 10 }, useOf({ budget: { [per]: 9_500_001 } }))).toBe(false);
    }
  });

  test('apply across all publishers, in addition to the caps of each provisioning', () => {
    const provisions = new Map([[1, provisionTo(1, { totalCaps: [{ metric: 'clicks', per: 'day', limit: 2 }] })]]);
    const offers = offersOf(withRules(1, { total_caps: [{ metric: 'clicks', per: 'day', limit: 5 }] }, { provisions }));
    const withUse = (all: number, own: number): number[] =>
      decideOfferIds(offers, {
        totals: new Map([
          [totalsKey(1, null), useOf({ clicks: { day: all } })],
          [totalsKey(1, 1), useOf({ clicks: { day: own } })],
        ]),
      });
    expect(withUse(4, 1)).toEqual([1]);
    expect(withUse(5, 1)).toEqual([]);
    expect(withUse(4, 2)).toEqual([]);
  });

  test('pass the position to the next campaign when they are reached', () => {
    const full = withRules(1, { total_caps: [{ metric: 'clicks', per: 'hour', limit: 1 }] }, { weight: 900 });
    const input = inputOf(publisherWith(offersOf(full, campaignOf(2))), {
      context: { count: 1 },
      totals: new Map([['1', useOf({ clicks: { hour: 1 } })]]),
    });
    expect(shownBy(decide(input))).toEqual([2]);
  });
});
