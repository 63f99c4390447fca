import { afterEach, beforeEach, expect, test } from 'vitest';
import type { payoutKinds } from '../../../src/catalog/rules.ts';
import { uspCalls } from '../../perks/usp/calls.ts';
import { list, remove, save, showOneTo } from '../../perks/wallet/support.ts';
import type { TestApp } from '../../support/test-app.ts';
import { clickIdOf, createTimedApp, track } from '../../tracking/conversions/support.ts';
import { call, fetchOffers, googlebot, type ShownOffer } from '../../tracking/journey.ts';
import { activity, byGroup, differences, nonZero, rollUpAll } from '../support.ts';

let testApp: Awaited<ReturnType<typeof createTimedApp>>;
beforeEach(async () => {
  testApp = await createTimedApp();
});
afterEach(() => testApp.close());

/** Sets the payout of every campaign, and waits for the snapshot to be refreshed. */
async function payBy({ pool, deps }: TestApp, kind: (typeof payoutKinds)[number], amount: number): Promise<void> {
  const { version } = deps.catalog.current();
  await pool.query('update campaigns set payout_kind = $1, payout_amount = $2', [kind, amount]);
  await expect.poll(() => deps.catalog.current().version).toBeGreaterThan(version);
}

async function seeAndClick(body: Record<string, unknown> = {}): Promise<{ offer: ShownOffer; clickId: string }> {
  const { offers } = await fetchOffers(testApp, body);
  const offer = offers[0] as ShownOffer;
  await call(testApp, offer.pixel);
  testApp.clock.ms += 1000;
  return { offer, clickId: await clickIdOf(testApp, offer.click_url) };
}

const total = async () => nonZero((await activity(testApp))[0]?.metrics);

test('a campaign paid per click earns from valid clicks, and a later payout changes no earlier event', async () => {
  await payBy(testApp, 'cpc', 0.25);
  const { offer } = await seeAndClick();
  await call(testApp, offer.click_url);
  const { offers } = await fetchOffers(testApp);
  await call(testApp, (offers[0] as ShownOffer).click_url, { 'user-agent': googlebot });
  await payBy(testApp, 'cpc', 9);
  await rollUpAll(testApp, testApp.clock.ms);
  expect(await total()).toEqual({
    sessions: 2,
    filled_sessions: 2,
    impressions: 1,
    clicks: 1,
    revenue_micros: 250_000,
  });
});

test('a campaign paid per thousand impressions earns from impressions', async () => {
  await payBy(testApp, 'cpm', 4.2);
  await seeAndClick();
  await rollUpAll(testApp, testApp.clock.ms);
  expect(await total()).toMatchObject({ impressions: 1, clicks: 1, revenue_micros: 4200 });
});

test("a publisher's own payout is used for its revenue", async () => {
  await payBy(testApp, 'cpc', 0.25);
  const { version } = testApp.deps.catalog.current();
  await testApp.pool.query('update campaign_publishers set payout_amount = 0.5');
  await expect.poll(() => testApp.deps.catalog.current().version).toBeGreaterThan(version);
  await seeAndClick();
  await rollUpAll(testApp, testApp.clock.ms);
  expect(await total()).toMatchObject({ revenue_micros: 500_000 });
});

test('each conversion counts once with its payout, and a void subtracts both in its own hour', async () => {
  await payBy(testApp, 'cpa', 12.5);
  const { clickId, offer } = await seeAndClick({ country: 'DE' });
  const sale = { click_id: clickId, event: 'sale', txn_id: 't1' };
  await Promise.all([track(testApp, sale), track(testApp, sale)]);
  await track(testApp, { ...sale, txn_id: 't2', payout: '0.000001' });
  await rollUpAll(testApp, testApp.clock.ms);
  expect(await total()).toMatchObject({ conversions: 2, revenue_micros: 12_500_001 });
  expect(
    byGroup(await activity(testApp, { groupBy: ['country', 'offer'], filters: { offer: [offer.id] } })),
  ).toMatchObject({
    [`DE ${offer.id}`]: { sessions: 1, conversions: 2, revenue_micros: 12_500_001 },
  });

  const day = new Date(testApp.clock.ms).toISOString().slice(0, 10);
  testApp.clock.ms += 86_400_000;
  const nextDay = new Date(testApp.clock.ms).toISOString().slice(0, 10);
  expect((await track(testApp, { ...sale, status: 'void' })).statusCode).toBe(200);
  await rollUpAll(testApp, testApp.clock.ms);
  const days = await activity(testApp, { from: day, to: nextDay });
  expect(days.map(({ time, metrics }) => [time, metrics.conversions, metrics.revenue_micros])).toEqual([
    [day, 2, 12_500_001],
    [nextDay, -1, -12_500_000],
  ]);
  for (const dayMs of [testApp.clock.ms - 86_400_000, testApp.clock.ms])
    expect(await differences(testApp, dayMs)).toEqual([]);
});

test('a void counts in totals and raw rows, however old its click is', async () => {
  await payBy(testApp, 'cpa', 12.5);
  const { clickId } = await seeAndClick({ country: 'DE' });
  const sale = { click_id: clickId, event: 'sale', txn_id: 't1' };
  await track(testApp, sale);
  await rollUpAll(testApp, testApp.clock.ms);
  testApp.clock.ms += 80 * 86_400_000;
  await rollUpAll(testApp, testApp.clock.ms);
  expect((await track(testApp, { ...sale, status: 'void' })).statusCode).toBe(200);
  await rollUpAll(testApp, testApp.clock.ms);
  const voided = { conversions: -1, revenue_micros: -12_500_000 };
  const byCountry = { groupBy: ['country'] as const, filters: {} };
  for (const buckets of ['day', 'none'] as const)
    expect(byGroup(await activity(testApp, { ...byCountry, buckets })), buckets).toEqual({ DE: voided });
  expect(await differences(testApp, testApp.clock.ms)).toEqual([]);
});

test('an offer saved to the wallet counts once per session, even if it is removed and saved again', async () => {
  const offer = await showOneTo(testApp, 'keeper');
  await Promise.all([save(testApp, offer), save(testApp, offer)]);
  await remove(testApp, offer.id, 'keeper');
  await save(testApp, offer);
  expect((await list(testApp, 'keeper')).json().data.count).toBe(1);
  await rollUpAll(testApp, testApp.clock.ms);
  expect(await total()).toMatchObject({ saves: 1 });
  expect(await differences(testApp, testApp.clock.ms)).toEqual([]);
});

test('perks count as selected when their session is wrapped, except in dev sessions', async () => {
  const usp = uspCalls(testApp);
  const { id, ids } = await usp.fetch();
  for (const campaign of ids) await usp.select(id, campaign);
  await usp.unselect(id, ids[1]);
  await rollUpAll(testApp, testApp.clock.ms);
  expect(await total()).not.toHaveProperty('selections');
  await Promise.all([usp.wrap(id), usp.wrap(id)]);
  const dev = await usp.fetch({ dev: '1' });
  await usp.select(dev.id, dev.ids[0]);
  await usp.wrap(dev.id);
  await rollUpAll(testApp, testApp.clock.ms);
  const campaignRows = (await activity(testApp, { groupBy: ['campaign'] })).filter(
    ({ metrics }) => metrics.selections > 0,
  );
  expect(campaignRows.map(({ group, metrics }) => [group[0], metrics.selections])).toEqual(
    [ids[0], ids[2]].sort((a, b) => a - b).map((campaign) => [campaign, 1]),
  );
  expect(await differences(testApp, testApp.clock.ms)).toEqual([]);
});
