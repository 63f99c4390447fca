import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { dayMs } from '../../src/platform/lib/time.ts';
import { uspCalls } from '../perks/usp/calls.ts';
import { list, saveUrlOf } from '../perks/wallet/support.ts';
import { askExport, erase, tablesWith } from '../privacy/support.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import type { ShownOffer } from '../tracking/journey.ts';
import { couponCalls } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let coupons: ReturnType<typeof couponCalls>;
let offer: ShownOffer & { id: number; campaign_id: number };
beforeAll(async () => {
  t = await createTimedApp();
  coupons = couponCalls(t);
});
afterAll(() => t.close());
beforeEach(async () => {
  offer = (await uspCalls(t).fetch()).offers[0] as typeof offer;
});
afterEach(() => coupons.removePool(offer.id));

/**
 * Wraps a session of a user.
 * @returns the offers shown in the session
 */
async function wrap(user: string) {
  const usp = uspCalls(t);
  const { id, offers } = await usp.fetch({ pub_user_id: user });
  const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
  expect((await usp.call('POST', `session/${id}.json`, { body })).status).toBe(200);
  return offers as unknown as ShownOffer[];
}

test("a user's code is exported and erased with the user, and never assigned to another user", async () => {
  await coupons.add(offer.id, { codes: ['FIRST-CODE', 'NEXT-CODE'] });
  await wrap('coupon-user');
  const exported = (await askExport(t, { pub_user_id: 'coupon-user' })).json().data;
  expect(exported.coupons).toMatchObject([{ offer_id: offer.id, code: 'FIRST-CODE', redeemed_at: null }]);
  expect(await erase(t, { pub_user_id: 'coupon-user' })).toMatchObject({
    data: { status: 'done', erased: { coupons: 1 } },
  });
  expect((await t.pool.query('select from coupons where offer_id = $1', [offer.id])).rowCount).toBe(0);
  expect(await tablesWith(t, 'FIRST-CODE')).toEqual([]);
  await wrap('another-user');
  expect((await askExport(t, { pub_user_id: 'another-user' })).json().data.coupons).toMatchObject([
    { code: 'NEXT-CODE' },
  ]);
});

test('codes are stored while they are valid and for RETENTION_RAW_DAYS afterwards', async () => {
  const { deps, contributions } = t;
  await coupons.add(offer.id, { codes: ['KEPT-A'] });
  await coupons.change(offer.id, { valid_days: 10 });
  await wrap('keeper');
  const keep = contributions.modules.find(({ name }) => name === 'coupons')?.retention;
  const atDay = (days: number) => keep?.(t.pool, deps.config, t.clock.ms + days * dayMs);
  expect(await atDay(9 + deps.config.retentionRawDays)).toEqual({ coupons: 0 });
  expect(await atDay(11 + deps.config.retentionRawDays)).toEqual({ coupons: 1 });
});

test('a code assigned when an offer is saved is in the wallet, and the wrap and later saves return it', async () => {
  await coupons.add(offer.id, { codes: ['SAVED-1', 'SAVED-2'] });
  await coupons.change(offer.id, { give_at: 'save', terms: 'Bring it along' });
  const offers = await wrap('saver');
  expect((await coupons.count(offer.id)).data).toMatchObject({ given: 0 });
  const saved = offers.find(({ id }) => id === offer.id) as ShownOffer;
  for (let time = 0; time < 2; time += 1)
    expect((await t.app.inject({ method: 'POST', url: saveUrlOf(saved) })).statusCode).toBe(200);
  const coupon = { code: 'SAVED-1', expires_at: null, terms: 'Bring it along' };
  const wallet = (await list(t, 'saver')).json().data;
  expect(wallet.offers).toMatchObject([{ id: offer.id, coupon }]);
  const page = await t.app.inject({ url: new URL(wallet.wallet_url).pathname + new URL(wallet.wallet_url).search });
  expect(page.body).toMatch(/SAVED-1[\s\S]*Bring it along/);
  expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, left: 1 });
});
