import { afterAll, beforeAll, expect, test } from 'vitest';
import { releaseDueReservations } from '../../src/budgets/reservations/release.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { browser, call, fetchOffers, type ShownOffer } from '../tracking/journey.ts';

let t: TestApp;
let nowMs = Date.now();
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
});
afterAll(() => t.close());

async function setRules(rules: object): Promise<number> {
  await t.pool.query("update campaigns set rules = '{}', priority = 100");
  const { rows } = await t.pool.query<{ id: number }>(
    `update campaigns set rules = $1, priority = 0, payout_kind = 'cpc', payout_amount = 0.5
      where id = (select min(id) from campaigns where not is_loyalty) returning id`,
    [rules],
  );
  await t.deps.catalog.refresh();
  return (rows[0] as { id: number }).id;
}

/** Returns the first offer shown if it belongs to this campaign. */
async function show(campaignId: number, user: string): Promise<ShownOffer | null> {
  const { offers } = await fetchOffers(t, { pub_user_id: user, ua: browser });
  return offers.find((offer) => offer.campaign_id === campaignId) ?? null;
}

const usageOf = async (campaignId: number) =>
  (
    await t.pool.query(
      `select impressions::int, clicks::int, micros::int from campaign_usage
        where campaign_id = $1 and period = 'lifetime'`,
      [campaignId],
    )
  ).rows[0];

test('an offer without a reported impression can be shown again after a minute', async () => {
  const campaignId = await setRules({
    frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: null }],
  });
  expect(await show(campaignId, 'ada')).not.toBeNull();
  nowMs += 59_000;
  expect(await show(campaignId, 'ada')).toBeNull();
  nowMs += 2_000;
  const offer = await show(campaignId, 'ada');
  expect(offer).not.toBeNull();
  await call(t, (offer as ShownOffer).pixel);
  nowMs += 61_000;
  expect(await show(campaignId, 'ada')).toBeNull();
});

test('concurrent fetches of a user show a campaign as often as its cap allows, even after impressions', async () => {
  const campaignId = await setRules({
    frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 2, window_minutes: 10 }],
  });
  const showMany = async () =>
    (await Promise.all(Array.from({ length: 8 }, () => show(campaignId, 'eve')))).filter(Boolean);
  const first = await showMany();
  expect(first).toHaveLength(2);
  await call(t, (first[0] as ShownOffer).pixel);
  expect(await showMany()).toHaveLength(0);
  nowMs += 61_000; // one impression was recorded, and the other reservation has expired
  expect(await showMany()).toHaveLength(1);
  // Expired reservations are removed once there are many. Nothing else changes.
  for (let minute = 0; minute < 15; minute += 1) {
    nowMs += 601_000;
    expect(await showMany()).toHaveLength(2);
  }
  const { rows } = await t.pool.query<{ bytes: number }>(
    'select octet_length(exposures) as bytes from user_history order by 1 desc',
  );
  expect(rows[0]?.bytes).toBeLessThan(31 * 40);
});

test('a cap has a rolling window', async () => {
  const campaignId = await setRules({
    frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 10 }],
  });
  await call(t, ((await show(campaignId, 'bob')) as ShownOffer).pixel);
  nowMs += 599_000;
  expect(await show(campaignId, 'bob')).toBeNull();
  nowMs += 1_000;
  expect(await show(campaignId, 'bob')).not.toBeNull();
});

test('reservations of total caps are released after a minute, and paid events remain counted', async () => {
  const campaignId = await setRules({ total_caps: [{ metric: 'impressions', per: 'lifetime', limit: 100 }] });
  const offers = await Promise.all(['c1', 'c2', 'c3'].map((user) => show(campaignId, user)));
  expect((await usageOf(campaignId)).impressions).toBe(3);
  await call(t, (offers[0] as ShownOffer).pixel);
  nowMs += 1_000;
  await call(t, (offers[0] as ShownOffer).click_url);
  nowMs += 76_000;
  await releaseDueReservations(t.pool, nowMs, () => ({ click: 1, conversion: 1 }));
  expect(await usageOf(campaignId)).toEqual({ impressions: 1, clicks: 1, micros: 500_000 });
  expect((await t.pool.query('select 1 from cap_reservations')).rows).toEqual([]);
});
