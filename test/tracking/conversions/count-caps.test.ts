import { afterAll, beforeAll, expect, test } from 'vitest';
import { askExport } from '../../privacy/support.ts';
import { fetchOffers, googlebot } from '../journey.ts';
import { type Clicked, clickOffer, createTimedApp, track } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let click: Clicked;
let bot: Clicked;

beforeAll(async () => {
  t = await createTimedApp();
  click = await clickOffer(t, { ad_fp: 'spender' });
  bot = await clickOffer(t, {}, { 'user-agent': googlebot });
  const rules = {
    total_caps: [{ metric: 'budget', limit: 1000, per: 'lifetime' }],
    frequency_caps: [{ scope: 'campaign', event: 'conversion', limit: 5, window_minutes: null }],
  };
  await t.pool.query(
    "update campaigns set rules = $1, payout_kind = 'cpa', payout_amount = 4, payout_currency = 'USD'",
    [rules],
  );
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

/** Returns the spent amount of a campaign, without reservations. */
async function spent(campaignId: number): Promise<number> {
  const { rows } = await t.pool.query(
    `select (select coalesce(sum(micros), 0) from campaign_usage where campaign_id = $1 and period = 'lifetime')
      - (
        select coalesce(sum((one ->> 4)::bigint), 0) from cap_reservations,
          jsonb_path_query(reserved::jsonb, '$[*][1][*]') as one
        where (one ->> 1)::integer = $1
      ) as micros`,
    [campaignId],
  );
  return Number(rows[0].micros);
}

const bookedInReports = async (): Promise<[number, number]> => {
  const { rows } = await t.pool.query(
    'select coalesce(sum(conversions), 0)::int as conversions, ' +
      'coalesce(sum(revenue_micros), 0)::bigint as revenue from bookings',
  );
  return [rows[0].conversions, Number(rows[0].revenue)];
};

test('conversions are charged to the campaign budget once, and voids refund them', async () => {
  const campaignId = click.campaign_id;
  t.clock.ms += 1;
  const before = await spent(campaignId);
  await track(t, { click_id: click.clickId, txn_id: 'a' });
  await track(t, { click_id: click.clickId, txn_id: 'a' });
  await track(t, { click_id: click.clickId, txn_id: 'b', payout: '1.5', currency: 'USD' });
  await track(t, { click_id: click.clickId, txn_id: 'c', payout: '7', currency: 'EUR' });
  expect((await spent(campaignId)) - before).toBe(5_500_000);
  expect(await bookedInReports()).toEqual([3, 5_500_000]);
  await track(t, { click_id: bot.clickId });
  expect((await spent(campaignId)) - before).toBe(5_500_000);
  for (let repeat = 0; repeat < 2; repeat++) await track(t, { click_id: click.clickId, txn_id: 'b', void: '1' });
  expect((await spent(campaignId)) - before).toBe(4_000_000);
  expect(await bookedInReports()).toEqual([2, 4_000_000]);
});

test('a void restores a lifetime cap once, even after the history has been rewritten', async () => {
  const cap = { scope: 'campaign', event: 'conversion', limit: 2, window_minutes: null };
  await t.pool.query('update publishers set offers_per_response = 10');
  await t.pool.query('update campaigns set rules = $1', [{ frequency_caps: [cap] }]);
  await t.deps.catalog.refresh();
  const other = await clickOffer(t, { ad_fp: 'returner' });
  const isShown = async (): Promise<boolean> => {
    const { offers } = await fetchOffers(t, { ad_fp: 'returner' });
    return offers.some(({ campaign_id }) => campaign_id === other.campaign_id);
  };
  const book = (txn_id: string, more = {}) => track(t, { click_id: other.clickId, txn_id, ...more });
  expect(await isShown()).toBe(true);
  for (const txn of ['a', 'b']) {
    t.clock.ms += 1;
    await book(txn);
  }
  expect(await isShown()).toBe(false);
  for (let repeat = 0; repeat < 2; repeat += 1) await book('a', { void: '1' });
  expect(await isShown()).toBe(true);
  t.clock.ms += 1;
  await book('c');
  expect(await isShown()).toBe(false);
  // Simulate a rewritten history, in which settled events lose their session.
  await t.pool.query(
    `update user_history set exposures = (
      select string_agg(substring(exposures from 31 * n + 1 for 23) || decode(repeat('00', 8), 'hex'), '' order by n)
      from generate_series(0, length(exposures) / 31 - 1) as n
    ) where length(exposures) > 0`,
  );
  await book('c', { void: '1' });
  expect(await isShown()).toBe(true);
});

test("conversions are stored in the user's history if a cap counts them", async () => {
  await track(t, { click_id: click.clickId, event: 'kept' });
  const { data } = (await askExport(t, { ad_fp: 'spender' })).json();
  expect(data.history[0].entry.exposures).toContainEqual({
    event: 'conversion',
    offer_id: click.id,
    campaign_id: click.campaign_id,
    advertiser_id: expect.any(Number),
    at: new Date(t.clock.ms).toISOString(),
    count: 1,
  });
});
