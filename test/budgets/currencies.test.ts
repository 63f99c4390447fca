import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TestApp } from '../support/test-app.ts';
import {
  addPostbackEndpoint,
  type Clicked,
  clickOffer,
  createTimedApp,
  post,
  postbacks,
  setCampaign,
  track,
} from '../tracking/conversions/support.ts';
import { browser } from '../tracking/journey.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeEach(async () => {
  t = await createTimedApp();
  await t.pool.query("update campaigns set rules = '{}', payout_currency = 'USD'");
  await t.pool.query('update campaign_publishers set payout_amount = null, total_caps = null');
  await t.deps.catalog.refresh();
});
afterEach(() => t.close());

/** Sets the publisher's exchange rates, in units of a currency per EUR. */
async function setRates(rates: Record<string, number>, validFrom = '2020-01-01'): Promise<void> {
  await t.pool.query("update publishers set rates_base = 'EUR' where id = $1", [t.publisher.id]);
  for (const [currency, rate] of Object.entries(rates))
    await t.pool.query(
      'insert into exchange_rates (publisher_id, currency, valid_from, rate) values ($1, $2, $3, $4)',
      [t.publisher.id, currency, validFrom, rate],
    );
  await t.deps.catalog.refresh();
}

async function setBudget(campaignId: number, limit: number, columns: Record<string, unknown> = {}, per = 'lifetime') {
  const rules = { total_caps: [{ metric: 'budget', per, limit }] };
  await setCampaign(t, campaignId, { rules, payout_kind: 'cpa', payout_amount: 2, payout_currency: 'USD', ...columns });
  await t.deps.catalog.refresh();
}

const clicked = (): Promise<Clicked> => clickOffer(t, { ua: browser });
const dataOf = async (fields: Record<string, string>) => (await track(t, fields)).json().data;

/** Returns the ledger's booked amount of a campaign, in its currency (millionths). */
async function bookedOf({ pool }: TestApp, campaignId: number): Promise<number> {
  const { rows } = await pool.query<{ sum: string }>(
    'select coalesce(sum(payout_micros), 0) as sum from conversions where campaign_id = $1',
    [campaignId],
  );
  return Number(rows[0]?.sum);
}

test('every way of reporting rejects a conversion with another currency and no amount', async () => {
  const { clickId: click_id, campaign_id: campaignId } = await clicked();
  await setBudget(campaignId, 4);
  for (let at = 0; at < 30; at++) {
    const answer = await track(t, { click_id, txn_id: String(at), currency: 'EUR' });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().message).toContain(
      'The field payout is required with the currency EUR, because the campaign pays in USD',
    );
  }
  expect((await post(t, { click_id, currency: 'eur' })).statusCode).toBe(400);
  expect((await track(t, { click_id, currency: 'EUR' }, '/track.png')).statusCode).toBe(400);
  for (const payout_kind of ['cpc', 'cpm', 'cps']) {
    await setCampaign(t, campaignId, { payout_kind });
    expect((await track(t, { click_id, currency: 'EUR' })).statusCode).toBe(400);
  }
  expect(await bookedOf(t, campaignId)).toBe(0);
  await setCampaign(t, campaignId, { payout_kind: 'cpa' });
  expect(await dataOf({ click_id, txn_id: 'own', currency: 'usd' })).toMatchObject({ payout: 2, currency: 'USD' });
});

test("an amount in another currency is booked in the campaign's currency at that day's rate", async () => {
  const { clickId: click_id, campaign_id: campaignId, sessionId } = await clicked();
  await addPostbackEndpoint(t, 'https://publisher.example/postback');
  await setBudget(campaignId, 30, { is_loyalty: true });
  await setRates({ USD: 1.2, GBP: 0.8 });
  await setRates({ USD: 1.5 }, '2999-01-01'); // not valid yet
  const first = { payout: 12, unbilled: 0, unbilled_reason: null, currency: 'USD' };
  expect(await dataOf({ click_id, txn_id: 'a', payout: '10', currency: 'EUR' })).toMatchObject(first);
  // Neither currency is the base currency.
  expect(await dataOf({ click_id, txn_id: 'b', payout: '8', currency: 'GBP' })).toMatchObject({ payout: 12 });
  const third = await dataOf({ click_id, txn_id: 'c', payout: '8', currency: 'GBP' });
  expect(third).toMatchObject({ payout: 0, unbilled: 12, unbilled_reason: 'budget', currency: 'USD' });
  // Three postbacks created within one millisecond have no defined order.
  const sent = (await postbacks(t, sessionId)).map(
    ({ payout, unbilled, currency }) => `${payout} ${unbilled} ${currency}`,
  );
  expect(sent.sort()).toEqual(['0 12 USD', '12 0 USD', '12 0 USD']);
  // A repeated report is compared with the original report, and a void reverses the booked amount.
  const repeat = { click_id, txn_id: 'a', payout: '10', currency: 'EUR' };
  expect((await track(t, repeat)).json()).toMatchObject({ message: 'duplicate', data: first });
  expect((await track(t, { ...repeat, currency: 'USD' })).statusCode).toBe(409);
  expect((await track(t, { ...repeat, payout: '12' })).json().message).toContain('recorded with 10 EUR');
  expect(await dataOf({ ...repeat, void: '1' })).toMatchObject({ payout: -12, currency: 'USD' });
  expect(await bookedOf(t, campaignId)).toBe(12e6);
  expect(await dataOf({ click_id, txn_id: 'd', payout: '15', currency: 'EUR' })).toMatchObject({ payout: 18 });
});

test('an amount in a currency without a rate is recorded as unbilled, and changes no budget', async () => {
  const { clickId: click_id, campaign_id: campaignId, sessionId } = await clicked();
  await addPostbackEndpoint(t, 'https://publisher.example/postback');
  await setBudget(campaignId, 4, { is_loyalty: true });
  const foreign = { click_id, txn_id: 'x', payout: '1', currency: 'SEK' };
  const unbilled = { payout: 0, unbilled: 1, unbilled_reason: 'currency', currency: 'SEK', loyalty_amount: 0 };
  expect(await dataOf(foreign)).toMatchObject(unbilled);
  expect(await postbacks(t, sessionId)).toMatchObject([unbilled]);
  expect((await track(t, foreign)).json()).toMatchObject({ message: 'duplicate', data: unbilled });
  expect(await dataOf({ ...foreign, void: '1' })).toMatchObject({ payout: 0, unbilled: -1 });
  expect(await dataOf({ click_id, txn_id: 'y' })).toMatchObject({ payout: 2 });
  // A rate that converts to more than the maximum amount is ignored.
  await setRates({ USD: 900_000_000_000 });
  const huge = { click_id, txn_id: 'z', payout: '999999999', currency: 'EUR' };
  expect(await dataOf(huge)).toMatchObject({ payout: 0, unbilled: 999_999_999, unbilled_reason: 'currency' });
});

test('a budget is never exceeded, for any currency, amount, payout kind, period and concurrency', async () => {
  await setRates({ USD: 1.1, JPY: 160, KWD: 0.33 });
  const clicks: Clicked[] = [];
  for (let at = 0; at < 3; at++) clicks.push(await clicked());
  const report = fc.record({
    click: fc.nat(2),
    currency: fc.constantFrom(undefined, 'USD', 'EUR', 'JPY', 'KWD', 'SEK'),
    payout: fc.option(fc.integer({ min: 0, max: 4_000_000 }), { nil: undefined }),
    isVoid: fc.boolean(),
  });
  const world = fc.record({
    kind: fc.constantFrom('cpa', 'cpc', 'cpm', 'cps'),
    amount: fc.integer({ min: 0, max: 100 }),
    limit: fc.integer({ min: 1, max: 20 }),
    overspend: fc.constantFrom(0, 10, 100),
    per: fc.constantFrom('day', 'lifetime'),
    reports: fc.array(report, { minLength: 1, maxLength: 12 }),
  });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(world, async ({ kind, amount, limit, overspend, per, reports }) => {
      round += 1;
      const campaignIds = [...new Set(clicks.map(({ campaign_id }) => campaign_id))];
      await t.pool.query('delete from campaign_usage');
      const payout = { payout_kind: kind, payout_amount: amount / 10, overspend_percent: overspend };
      for (const id of campaignIds) await setBudget(id, limit, payout, per);
      const before = new Map<number, number>();
      for (const id of campaignIds) before.set(id, await bookedOf(t, id));
      const callsOf = (isVoid: boolean) =>
        reports.flatMap((conversion, at) => {
          if (isVoid && !conversion.isVoid) return [];
          const fields: Record<string, string> = {
            click_id: (clicks[conversion.click] as Clicked).clickId,
            txn_id: `${round} ${at}`,
            ...(isVoid && { void: '1' }),
            ...(conversion.payout !== undefined && !isVoid && { payout: String(conversion.payout / 1_000_000) }),
            ...(conversion.currency !== undefined && !isVoid && { currency: conversion.currency }),
          };
          return [track(t, fields)];
        });
      const answers = await Promise.all(callsOf(false));
      for (const { statusCode } of answers) expect([200, 400]).toContain(statusCode);
      await Promise.all(callsOf(true));
      for (const id of campaignIds) {
        const booked = (await bookedOf(t, id)) - (before.get(id) as number);
        expect(booked).toBeLessThanOrEqual((limit * 1e6 * (100 + overspend)) / 100);
        const { rows } = await t.pool.query<{ spent: string }>(
          `select spent_micros as spent from campaign_usage
          where campaign_id = $1 and publisher_id = 0 and split_part(period, ' ', 1) = $2`,
          [id, per],
        );
        // The recorded spend equals the booked amount: no currency bypasses the budget.
        expect(Number(rows[0]?.spent ?? 0)).toBe(booked);
      }
    }),
    { numRuns: 25 },
  );
}, 300_000);
