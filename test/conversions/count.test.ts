import { afterAll, beforeAll, expect, test } from 'vitest';
import { googlebot } from '../tracking/journey.ts';
import { clickOffer, createTimedApp, setCampaign, track } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let campaignId: number;
beforeAll(async () => {
  t = await createTimedApp();
  campaignId = (await clickOffer(t)).campaign_id;
  const rules = {
    total_caps: [{ metric: 'budget', amount: 1000, per: 'lifetime' }],
    frequency_caps: [{ scope: 'campaign', event: 'conversion', limit: 5, window: 'lifetime' }],
  };
  await setCampaign(t, campaignId, { rules, payout_kind: 'cpa', payout_amount: '4', payout_currency: 'USD' });
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

const spent = async (): Promise<number> =>
  Number(
    (
      await t.pool.query("select coalesce(sum(micros), 0) as micros from campaign_use where campaign_id = $1 and period = 'lifetime'", [
        campaignId,
      ])
    ).rows[0].micros,
  );

const bookedInReports = async (): Promise<[number, number]> => {
  const { rows } = await t.pool.query(
    'select coalesce(sum(conversions), 0)::int as conversions, coalesce(sum(revenue_micros), 0)::bigint as revenue from bookings',
  );
  return [rows[0].conversions, Number(rows[0].revenue)];
};

test('conversions are spent from the budget of their campaign once, and voids give back', async () => {
  const click = await clickOffer(t, { ad_fp: 'spender' });
  expect(click.campaign_id).toBe(campaignId);
  const before = await spent();
  await track(t, { click_id: click.clickId, txn_id: 'a' });
  await track(t, { click_id: click.clickId, txn_id: 'a' });
  await track(t, { click_id: click.clickId, txn_id: 'b', payout: '1.5', currency: 'USD' });
  await track(t, { click_id: click.clickId, txn_id: 'c', payout: '7', currency: 'EUR' });
  expect((await spent()) - before).toBe(5_500_000);
  expect(await bookedInReports()).toEqual([3, 12_500_000]);
  const bot = await clickOffer(t, {}, { 'user-agent': googlebot });
  await track(t, { click_id: bot.clickId });
  expect((await spent()) - before).toBe(5_500_000);
  for (let repeat = 0; repeat < 2; repeat++) await track(t, { click_id: click.clickId, txn_id: 'b', void: '1' });
  expect((await spent()) - before).toBe(4_000_000);
  expect(await bookedInReports()).toEqual([2, 11_000_000]);
});

test('conversions are kept in the history of the user, where a cap counts them', async () => {
  const click = await clickOffer(t, { ad_fp: 'capped' });
  await track(t, { click_id: click.clickId });
  const { rows } = await t.pool.query('select exposures from user_history h join sessions s using (user_key) where s.id = $1', [
    click.sessionId,
  ]);
  expect(rows[0].exposures.filter(([kind]: [string]) => kind === 'conversion')).toEqual([
    ['conversion', click.id, campaignId, expect.any(Number), t.clock.ms, 1],
  ]);
});
