import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../../catalog/resources/support.ts';
import { signInAs } from '../../dashboard/support.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
let path: string;
beforeAll(async () => {
  t = await createManagementApp();
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  ids = await addCatalogue(me);
  path = `/publishers/${me.publisherId}/controls`;
});

async function fetchOffers(times: number): Promise<number[]> {
  const sessions: string[] = [];
  let shownIds: number[] = [];
  for (let at = 0; at < times; at++) {
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${me.key}`,
      payload: { placement: 'checkout', ip: '203.0.113.9' },
    });
    const { session_id: id, offers } = answer.json().data;
    sessions.push(id);
    shownIds = offers.map((offer: { id: number }) => offer.id);
  }
  // Decision data is stored shortly after the response.
  const statusOfDecision = async () => (await me.call('GET', `/sessions/${sessions.at(-1)}/decision`)).status;
  await expect.poll(statusOfDecision).toBe(200);
  return shownIds;
}

const brand = { blocked: { brands: ['Farm'] } };
type Effect = {
  sampled: number;
  sessions: number;
  changed: number;
  emptied: number;
  revenue: object[];
  is_enough: boolean;
};
const checked = async (rules: object) => {
  const { status, body } = await me.call('PUT', `${path}?dry_run=true`, rules);
  expect(status).toBe(200);
  return (body as unknown as { effect: Effect }).effect;
};

test('shows the share of recent sessions that rules would change before they are saved', async () => {
  expect(await checked(brand)).toMatchObject({ sampled: 0, changed: 0 });
  expect(await fetchOffers(4)).toEqual([ids.offer]);
  const advertiser = { blocked: { advertisers: [ids.advertiser] } };
  expect(await checked(advertiser)).toMatchObject({ days: 7, sessions: 4, sampled: 4, changed: 1, emptied: 1 });
  expect(await checked({ blocked: { words: ['never written'] } })).toMatchObject({
    sampled: 4,
    changed: 0,
    emptied: 0,
  });
  expect(await checked({ floors: { checkout: 1_000_000 } })).toMatchObject({ changed: 1, emptied: 1 });
  expect(await checked({ floors: { elsewhere: 1_000_000 } })).toMatchObject({ changed: 0 });
  expect((await me.call('GET', path)).body.data.blocked).toMatchObject({ advertisers: [] });
});

test('the cost of a rule is the value of the offers that would have been shown without it', async () => {
  const payout = { payout_kind: 'cpc', payout_amount: 2, payout_currency: 'EUR' };
  expect((await me.call('PATCH', `/campaigns/${ids.campaign}`, payout)).status).toBe(200);
  await fetchOffers(2);
  const rules = { blocked: { advertisers: [ids.advertiser], words: ['never written'] }, floors: { elsewhere: 5 } };
  await me.call('PUT', path, rules);
  expect(await fetchOffers(3)).toEqual([]);
  const cost = await me.call('GET', `${path}/cost`);
  expect(cost.body.data).toMatchObject({
    days: 7,
    sessions: 5,
    sampled: 5,
    rest: 0,
    rules: [
      // The two decisions from before the rule was set are unchanged.
      { by: 'advertiser', value: String(ids.advertiser), changed: 0.6, emptied: 0 },
      { by: 'word', value: 'never written', changed: 0, revenue: [] },
      { by: 'floor', value: 'elsewhere', changed: 0, revenue: [] },
    ],
  });
  // Five decisions without bookings are too few to estimate revenue.
  expect((cost.body.data.rules as object[])[0]).toMatchObject({ revenue: [], is_enough: false });
  // An offer that is blocked by two rules stays blocked if either of them is removed.
  await me.call('PUT', path, { blocked: { advertisers: [ids.advertiser], offers: [ids.offer] } });
  await fetchOffers(1);
  const both = (await me.call('GET', `${path}/cost`)).body.data.rules as { by: string; changed: number }[];
  expect(both.find(({ by }) => by === 'offer')).toMatchObject({ changed: 0 });
});

/** Sets the booked revenue of an offer in the reports of the last hour, in currency units. */
const book = (offerId: number, amount: number, currency = 'EUR') =>
  t.pool.query(
    `insert into rollup_money (publisher_id, grain, bucket, placement, offer_id, country, device, os, currency,
      campaign_id, revenue_micros, unbilled_micros)
    values ($1, 2, date_trunc('hour', now()), '', $2, '', '', '', $4, 0, $3, 0)
    on conflict (publisher_id, grain, bucket, placement, offer_id, country, device, os, currency)
    do update set revenue_micros = excluded.revenue_micros`,
    [me.publisherId, offerId, amount * 1e6, currency],
  );

test('a check never reports a loss above the booked revenue, whatever the model expects', async () => {
  const payout = { payout_kind: 'cpc', payout_amount: 500, payout_currency: 'EUR' };
  expect((await me.call('PATCH', `/campaigns/${ids.campaign}`, payout)).status).toBe(200);
  await fetchOffers(20);
  const block = { blocked: { advertisers: [ids.advertiser] } };
  // Without bookings, the report says that there is too little data, and does not assume the revenue that the model
  // expects.
  expect(await checked(block)).toMatchObject({ sampled: 20, emptied: 1, revenue: [], is_enough: false });
  // Conversions booked in another currency don't count as revenue in this currency.
  await book(ids.offer as number, 900, 'USD');
  expect(await checked(block)).toMatchObject({ revenue: [], is_enough: false });
  await book(ids.offer as number, 278);
  expect(await checked(block)).toMatchObject({ revenue: [{ currency: 'EUR', amount: -278 }], is_enough: true });
  expect(await checked({ blocked: { words: ['never written'] } })).toMatchObject({ revenue: [], is_enough: true });
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const fields = { 'blocked.advertisers': String(ids.advertiser), _check: '1' };
  expect((await admin.post(page, fields)).body).toMatch(/in revenue in this period: -€278\.00/);
  // The cost of a rule cannot be estimated if all revenue was booked without the offers it blocks.
  await me.call('PUT', path, block);
  await fetchOffers(1);
  const rule = async () => ((await me.call('GET', `${path}/cost`)).body.data.rules as object[])[0];
  expect(await rule()).toMatchObject({ is_enough: true, revenue: [{ currency: 'EUR', amount: expect.any(Number) }] });
  await book(ids.offer as number, 0);
  expect(await rule()).toMatchObject({ is_enough: false, revenue: [] });
});

test('the page checks rules without saving them and calculates the cost of each rule', async () => {
  await me.call('PUT', path, { blocked: { advertisers: [ids.advertiser] } });
  await fetchOffers(2);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const check = await admin.post(page, { 'blocked.advertisers': '', 'blocked.words': 'typed', _check: '1' });
  expect([check.statusCode, check.body]).toEqual([200, expect.stringContaining('100% would have shown other offers')]);
  expect(check.body).toContain('typed');
  expect((await me.call('GET', path)).body.data.blocked).toMatchObject({ words: [] });
  expect((await admin.get(page)).body).toContain('?cost=1');
  expect((await admin.get(`${page}?cost=1`)).body).toMatch(/Advertiser Farm<\/td><td[^>]*><\/td><td[^>]*>100%/);
});

test('another publisher, or a key without the permission, cannot see the effects', async () => {
  const otherPublisher = await t.caller(await t.addPublisher());
  expect((await otherPublisher.call('GET', `${path}/cost`)).status).toBe(404);
  const weak = await t.caller(me.publisherId, ['reports']);
  expect((await weak.call('GET', `${path}/cost`)).status).toBe(403);
});

test('rules of a placement and allow lists have separate effects and costs', async () => {
  await fetchOffers(3);
  const there = { placements: { checkout: brand } };
  expect(await checked(there)).toMatchObject({ sampled: 3, changed: 1, emptied: 1 });
  expect(await checked({ placements: { elsewhere: brand } })).toMatchObject({ sampled: 3, changed: 0 });
  expect(await checked({ allowed: { brands: ['Other'] } })).toMatchObject({ changed: 1, emptied: 1 });
  await me.call('PUT', path, there);
  expect(await fetchOffers(3)).toEqual([]);
  const { body } = await me.call('GET', `${path}/cost`);
  expect(body.data.rules).toMatchObject([{ by: 'brand', value: 'Farm', placement: 'checkout', changed: 0.5 }]);
});

test('the page checks the rules of a placement only against its own sessions', async () => {
  await fetchOffers(2);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/controls`;
  const shareOf = async (placement: string): Promise<string | undefined> => {
    const { body } = await admin.post(page, { placement, 'allowed.brands': 'Other', _check: '1' });
    return /(\d+)% would have shown other offers/.exec(body)?.[1];
  };
  expect([await shareOf('checkout'), await shareOf('elsewhere')]).toEqual(['100', '0']);
  expect((await me.call('GET', path)).body.data.placements).toEqual({});
});
