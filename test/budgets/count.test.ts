import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Exposure } from '../../src/budgets/caps.ts';
import { historyOf, type OpenHistory, readHistories } from '../../src/budgets/history/history.ts';
import { addUsage, noAmounts } from '../../src/budgets/usage/usage.ts';
import { dayMs } from '../../src/platform/lib/time.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { browser, call, fetchOffers, googlebot, type ShownOffer } from '../tracking/journey.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

/**
 * Sets rules for the first campaign shown and removes the rules of all others. From now on, this campaign is shown
 * first.
 */
async function withRules(rules: object, payout = { kind: 'cpm', amount: 2000 }): Promise<void> {
  await t.pool.query("update campaigns set rules = '{}', priority = 100");
  const { offers } = await fetchOffers(t);
  await t.pool.query(
    'update campaigns set rules = $2, payout_kind = $3, payout_amount = $4, priority = 0 where id = $1',
    [offers[0]?.campaign_id, rules, payout.kind, payout.amount],
  );
  await t.deps.catalog.refresh();
}

const exposuresOf = async (pubUserId: string): Promise<Exposure[]> => {
  const { rows } = await t.pool.query<{ user_key: string }>(
    'select user_key from sessions where pub_user_id = $1 limit 1',
    [pubUserId],
  );
  const userKey = rows[0]?.user_key as string;
  const { histories } = await readHistories(t.pool, new Map([[userKey, 0]]), Date.now() + dayMs, null);
  return [...historyOf(histories.get(userKey) as OpenHistory).exposures];
};

const usageOf = async (campaignId: number) => {
  const { rows } = await t.pool.query(
    `select split_part(period, $2, 1) as per, impressions::int, clicks::int, micros::int
      from campaign_usage where campaign_id = $1 order by period`,
    [campaignId, ' '],
  );
  return rows;
};

async function show(pubUserId: string): Promise<ShownOffer> {
  const { offers } = await fetchOffers(t, { pub_user_id: pubUserId, ua: browser });
  return offers[0] as ShownOffer;
}

const cap = (event: string) => ({ frequency_caps: [{ scope: 'offer', event, limit: 1000, window_minutes: null }] });

describe('the history of a user', () => {
  test('records an impression of a capped campaign once, however often it is sent', async () => {
    await withRules(cap('impression'));
    const offer = await show('ada');
    await Promise.all(Array.from({ length: 64 }, () => call(t, offer.pixel)));
    await call(t, offer.pixel);
    const [exposure, ...more] = await exposuresOf('ada');
    expect(exposure).toEqual({
      event: 'impression',
      offerId: offer.id,
      campaignId: offer.campaign_id,
      advertiserId: expect.any(Number),
      atMs: expect.any(Number),
    });
    expect(more).toEqual([]);
  });

  test('records only events that a cap counts, and no suspicious events', async () => {
    await withRules(cap('no_thanks'));
    const offer = await show('bob');
    await call(t, offer.pixel);
    await call(t, offer.beacons.close);
    expect(await exposuresOf('bob')).toEqual([]);
    await call(t, offer.beacons.no_thanks_click, { 'user-agent': googlebot });
    expect(await exposuresOf('bob')).toEqual([]);
    const again = await show('bob');
    await call(t, again.beacons.no_thanks_click);
    expect((await exposuresOf('bob')).map(({ event }) => event)).toEqual(['no_thanks']);
    const { rows } = await t.pool.query(
      "select opt_outs from user_history where exposures <> '' order by updated_at desc limit 1",
    );
    expect(rows[0].opt_outs).toEqual({ [again.campaign_id]: null });
  });

  test("records events of an advertiser's other campaigns if a cap of the advertiser counts them", async () => {
    await withRules({
      frequency_caps: [{ scope: 'advertiser', event: 'impression', limit: 1000, window_minutes: 60 }],
    });
    const { offers } = await fetchOffers(t, { pub_user_id: 'cyd' });
    await t.pool.query(
      'update campaigns set advertiser_id = (select advertiser_id from campaigns where id = $1) where id = $2',
      [offers[0]?.campaign_id, offers[1]?.campaign_id],
    );
    await t.deps.catalog.refresh();
    for (const offer of offers) await call(t, offer.pixel);
    expect((await exposuresOf('cyd')).map(({ offerId }) => offerId)).toEqual(
      offers.slice(0, 2).map((offer) => offer.id),
    );
  });

  test('is not written if there is no cap', async () => {
    await withRules({});
    const offer = await show('dee');
    await call(t, offer.pixel);
    expect(await exposuresOf('dee')).toEqual([]);
  });
});

describe('the usage of a campaign', () => {
  test('grows by exactly one and the price with each impression, in every period', async () => {
    await withRules({ total_caps: [{ metric: 'impressions', per: 'day', limit: 1000 }] });
    const offers = await Promise.all(['e1', 'e2', 'e3'].map(show));
    await Promise.all(offers.flatMap((offer) => Array.from({ length: 20 }, () => call(t, offer.pixel))));
    expect(await usageOf(offers[0]?.campaign_id as number)).toEqual(
      ['day', 'hour', 'lifetime', 'month'].map((per) => ({ per, impressions: 3, clicks: 0, micros: 6_000_000 })),
    );
  });
});

test('extreme reported amounts never overflow the usage', async () => {
  const change = {
    campaignId: 987_654,
    publisherId: null,
    period: 'lifetime',
    ...noAmounts,
    impressions: 1,
    micros: 1e17,
  };
  for (let report = 0; report < 120; report += 1) await addUsage(t.pool, [change]);
  const [used] = await addUsage(t.pool, [{ ...change, micros: -1e15 }]);
  expect(used).toMatchObject({ impressions: 121, micros: 8e15 });
});
