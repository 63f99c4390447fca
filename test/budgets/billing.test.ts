import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fitBills } from '../../src/budgets/usage/billing.ts';
import type { TestApp } from '../support/test-app.ts';
import {
  addPostbackEndpoint,
  type Clicked,
  clickOffer,
  createTimedApp,
  postbacks,
  setCampaign,
  track,
} from '../tracking/conversions/support.ts';
import { browser, call, fetchOffers, type ShownOffer } from '../tracking/journey.ts';

/** Returns the booked revenue of a campaign's events, and the unbilled revenue, in millionths. */
async function billed({ pool }: TestApp, campaignId: number): Promise<{ revenue: number; unbilled: number }> {
  const { rows } = await pool.query<{ revenue: string; unbilled: string }>(
    `select coalesce(sum(revenue), 0) as revenue, coalesce(sum(unbilled), 0) as unbilled from (
      select revenue_micros as revenue, unbilled_micros as unbilled from events where campaign_id = $1
      union all select revenue_micros, unbilled_micros from bookings where campaign_id = $1
    ) as money`,
    [campaignId],
  );
  return { revenue: Number(rows[0]?.revenue), unbilled: Number(rows[0]?.unbilled) };
}

const spent = async ({ pool }: TestApp, campaignId: number, period = 'lifetime') =>
  (
    await pool.query(
      `select spent_micros::float8 as spent, unbilled_micros::float8 as unbilled, conversions::int, clicks::int
      from campaign_usage where campaign_id = $1 and publisher_id = 0 and split_part(period, ' ', 1) = $2`,
      [campaignId, period],
    )
  ).rows[0];

test('a budget books exactly the events whose full price still fits', () => {
  const bill = fc.record({
    micros: fc.integer({ min: 0, max: 40 }),
    budgets: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(
      fc.array(bill, { maxLength: 40 }),
      fc.record({ a: fc.nat(100), b: fc.nat(100), c: fc.nat(100) }),
      fc.record({ a: fc.nat(60), b: fc.nat(60), c: fc.nat(60) }),
      (bills, limits, before) => {
        const spentOn: Record<string, number> = { ...before };
        const fits = fitBills(
          bills.map(({ micros, budgets }) => ({
            micros,
            budgets: budgets.map((key) => ({ key, limitMicros: limits[key] })),
          })),
          (key) => spentOn[key] ?? 0,
        );
        const expectedSpend = { ...before };
        for (const [index, { micros, budgets }] of bills.entries()) {
          const isRoomFor = budgets.every((key) => expectedSpend[key] + micros <= limits[key]);
          expect(fits[index]).toBe(isRoomFor);
          if (isRoomFor) for (const key of budgets) expectedSpend[key] += micros;
        }
      },
    ),
  );
});

describe('billing in a single process', () => {
  let t: Awaited<ReturnType<typeof createTimedApp>>;
  beforeEach(async () => {
    t = await createTimedApp();
    await t.pool.query("update campaigns set rules = '{}'");
  });
  afterEach(() => t.close());

  /** Returns the first offer shown to each of many users, before its campaign has a budget. */
  async function shownTo(users: number): Promise<ShownOffer[]> {
    const shownOffers: ShownOffer[] = [];
    for (let user = 0; user < users; user += 1) {
      const { offers } = await fetchOffers(t, { ua: browser });
      const [first] = shownOffers;
      const offer = offers.find(({ campaign_id }) => first === undefined || campaign_id === first.campaign_id);
      if (offer === undefined) continue;
      await call(t, offer.pixel);
      shownOffers.push(offer);
      await setCampaign(t, offer.campaign_id, { priority: 0 });
      if (user === 0) await t.deps.catalog.refresh();
    }
    t.clock.ms += 1000;
    return shownOffers;
  }

  const budget = async (campaignId: number, limit: number, columns: Record<string, unknown> = {}): Promise<void> => {
    await setCampaign(t, campaignId, {
      rules: { total_caps: [{ metric: 'budget', per: 'lifetime', limit }] },
      ...columns,
    });
    await t.deps.catalog.refresh();
  };

  test('counts clicks beyond a budget and books them with 0, even for 64 concurrent clicks', async () => {
    const offers = await shownTo(64);
    const campaignId = offers[0]?.campaign_id as number;
    await budget(campaignId, 20, { payout_kind: 'cpc', payout_amount: 0.5 });
    await Promise.all(offers.map((offer) => call(t, offer.click_url)));
    expect(await billed(t, campaignId)).toEqual({ revenue: 20e6, unbilled: (offers.length - 40) * 0.5e6 });
    expect(await spent(t, campaignId)).toMatchObject({ spent: 20e6, clicks: offers.length });
    // Repeated clicks change nothing.
    await Promise.all(offers.map((offer) => call(t, offer.click_url)));
    expect(await billed(t, campaignId)).toEqual({ revenue: 20e6, unbilled: (offers.length - 40) * 0.5e6 });
  });

  test('books nothing more if a budget is lowered below the amount spent, unless overspend allows it', async () => {
    const offers = await shownTo(12);
    const campaignId = offers[0]?.campaign_id as number;
    await budget(campaignId, 10, { payout_kind: 'cpc', payout_amount: 1 });
    for (const offer of offers.splice(0, 4)) await call(t, offer.click_url);
    await budget(campaignId, 2);
    for (const offer of offers.splice(0, 2)) await call(t, offer.click_url);
    expect(await billed(t, campaignId)).toEqual({ revenue: 4e6, unbilled: 2e6 });
    await budget(campaignId, 4, { overspend_percent: 50 });
    for (const offer of offers) await call(t, offer.click_url);
    expect(await billed(t, campaignId)).toEqual({ revenue: 6e6, unbilled: 6e6 });
  });

  test('applies the budget of a campaign that is no longer served to any publisher', async () => {
    const offers = await shownTo(4);
    const campaignId = offers[0]?.campaign_id as number;
    await budget(campaignId, 1, { payout_kind: 'cpc', payout_amount: 1 });
    await t.pool.query('delete from campaign_publishers where campaign_id = $1', [campaignId]);
    await t.deps.catalog.refresh();
    await Promise.all(offers.map((offer) => call(t, offer.click_url)));
    expect(await billed(t, campaignId)).toEqual({ revenue: 1e6, unbilled: 3e6 });
  });

  describe('conversions', () => {
    const clicked = async (users: number): Promise<Clicked[]> => {
      const clicks: Clicked[] = [];
      for (let user = 0; user < users; user += 1) {
        const click = await clickOffer(t, { ua: browser });
        if (user === 0) {
          await setCampaign(t, click.campaign_id, { priority: 0 });
          await t.deps.catalog.refresh();
        }
        if (user === 0 || click.campaign_id === clicks[0]?.campaign_id) clicks.push(click);
      }
      return clicks;
    };

    test('are booked with 0 beyond a budget, and response, ledger and postback state the unbilled amount', async () => {
      const clicks = await clicked(24);
      const campaignId = clicks[0]?.campaign_id as number;
      await addPostbackEndpoint(t, 'https://publisher.example/postback');
      await budget(campaignId, 20, { payout_kind: 'cpa', payout_amount: 3, is_loyalty: true });
      const answers = await Promise.all(clicks.map(({ clickId }) => track(t, { click_id: clickId })));
      const booked = answers.map((answer) => answer.json().data as { payout: number; unbilled: number });
      expect(booked.filter(({ payout, unbilled }) => payout === 3 && unbilled === 0)).toHaveLength(6);
      expect(booked.filter(({ payout, unbilled }) => payout === 0 && unbilled === 3)).toHaveLength(clicks.length - 6);
      expect(await billed(t, campaignId)).toEqual({ revenue: 18e6, unbilled: (clicks.length - 6) * 3e6 });
      for (const [index, { sessionId, clickId }] of clicks.entries()) {
        const { payout, unbilled } = booked[index] as { payout: number; unbilled: number };
        expect(await postbacks(t, sessionId)).toMatchObject([{ payout, unbilled, loyalty_amount: payout * 100 }]);
        const repeat = (await track(t, { click_id: clickId })).json();
        expect(repeat).toMatchObject({ message: 'duplicate', data: { payout, unbilled } });
      }
    });

    test('free up budget when they are voided, but only if they were booked', async () => {
      const clicks = await clicked(1);
      const { campaign_id: campaignId, clickId: click_id } = clicks[0] as Clicked;
      await budget(campaignId, 5, { payout_kind: 'cpa', payout_amount: 5 });
      const report = async (txn_id: string, more: object = {}) =>
        (await track(t, { click_id, txn_id, ...more })).json().data;
      expect(await report('a')).toMatchObject({ payout: 5, unbilled: 0 });
      expect(await report('b')).toMatchObject({ payout: 0, unbilled: 5 });
      expect(await report('b', { void: '1' })).toMatchObject({ payout: 0, unbilled: -5 });
      expect(await report('c')).toMatchObject({ payout: 0, unbilled: 5 });
      expect(await report('a', { void: '1' })).toMatchObject({ payout: -5, unbilled: 0 });
      expect(await report('d')).toMatchObject({ payout: 5, unbilled: 0 });
      expect(await billed(t, campaignId)).toEqual({ revenue: 5e6, unbilled: 5e6 });
      expect(await spent(t, campaignId)).toMatchObject({ spent: 5e6, unbilled: 5e6, conversions: 2 });
    });

    test('made before a budget or goal was set do not free it up when they are voided', async () => {
      const clicks = await clicked(1);
      const { campaign_id: campaignId, clickId: click_id } = clicks[0] as Clicked;
      const report = async (txn_id: string, more: object = {}) =>
        (await track(t, { click_id, txn_id, ...more })).json().data;
      await setCampaign(t, campaignId, { payout_kind: 'cpa', payout_amount: 5 });
      expect(await report('before')).toMatchObject({ payout: 5, unbilled: 0 });
      // The goal start is set by the database clock, which may be ahead of the test clock.
      t.clock.ms = Math.max(t.clock.ms, Date.now()) + 60_000;
      await budget(campaignId, 5, {
        goal: { metric: 'conversions', count: 10, by: new Date(t.clock.ms + 3_600_000).toISOString() },
        updated_at: new Date(t.clock.ms),
      });
      t.clock.ms += 1000;
      expect(await report('a')).toMatchObject({ payout: 5, unbilled: 0 });
      expect(await report('before', { void: '1' })).toMatchObject({ payout: -5, unbilled: 0 });
      expect(await report('b')).toMatchObject({ payout: 0, unbilled: 5 });
      expect(await spent(t, campaignId)).toMatchObject({ spent: 5e6, unbilled: 5e6, conversions: 2 });
      expect(await spent(t, campaignId, 'goal')).toMatchObject({ conversions: 2 });
      await setCampaign(t, campaignId, { rules: '{}', updated_at: new Date(t.clock.ms) });
      await t.deps.catalog.refresh();
      expect(await report('without')).toMatchObject({ payout: 5 });
      await budget(campaignId, 5);
      expect(await report('without', { void: '1' })).toMatchObject({ payout: -5 });
      expect(await spent(t, campaignId)).toMatchObject({ spent: 5e6 });
    });

    test('never free up budget, even with extreme amounts', async () => {
      const clicks = await clicked(12);
      const campaignId = clicks[0]?.campaign_id as number;
      await budget(campaignId, 900_000_000, { payout_kind: 'cpa', payout_amount: 1 });
      const payout = '899999999';
      await Promise.all(
        clicks.flatMap(({ clickId }) =>
          [1, 2, 3].map((txn) => track(t, { click_id: clickId, payout, txn_id: `${txn}` })),
        ),
      );
      expect((await billed(t, campaignId)).revenue).toBe(899_999_999e6);
      expect(await spent(t, campaignId)).toMatchObject({ spent: 899_999_999e6 });
    });
  });
});
