import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { markStock } from '../../src/coupons/pools.ts';
import { uspCalls } from '../perks/usp/calls.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { couponCalls } from './support.ts';

const hourMs = 3_600_000;

let t: Awaited<ReturnType<typeof createTimedApp>>;
let coupons: ReturnType<typeof couponCalls>;
let offer: { id: number; campaign_id: number };
beforeAll(async () => {
  t = await createTimedApp();
  coupons = couponCalls(t);
  offer = (await uspCalls(t).fetch()).offers[0] as typeof offer;
});
afterAll(() => t.close());
afterEach(async () => {
  await coupons.removePool(offer.id);
  await t.deps.catalog.refresh();
});

const inHours = (hours: number): string => new Date(t.clock.ms + hours * hourMs).toISOString();
let users = 0;

type Coupon = { code: string; expires_at: string | null } | null | undefined;

/** Creates a user with a session that shows the offer. */
async function sessionOf() {
  users += 1;
  const user = `late-${users}`;
  const usp = uspCalls(t);
  const { id, offers } = await usp.fetch({ pub_user_id: user });
  const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
  const wrap = async (): Promise<Coupon> => {
    const { data } = await usp.call('POST', `session/${id}.json`, { body });
    return (data as unknown as { campaigns: { coupon: Coupon }[] }).campaigns[0]?.coupon;
  };
  const shownOffer = offers.find((fetchedOffer) => fetchedOffer.id === offer.id) as { coupon?: Coupon } | undefined;
  return { wrap, shown: shownOffer, select: () => usp.select(id, offer.campaign_id, { user }) };
}

test('a pool that expires between fetch and wrap assigns no code, and its offer is paused', async () => {
  await coupons.add(offer.id, { codes: ['A', 'B'] });
  await coupons.change(offer.id, { expires_at: inHours(1) });
  const [early, late] = [await sessionOf(), await sessionOf()];
  expect(await early.wrap()).toMatchObject({ code: 'A' });
  t.clock.ms += hourMs; // the very moment of the end
  expect(await late.wrap()).toBeNull();
  expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, left: 1, expired: true });
  expect((await coupons.pool(offer.id)).data.paused_since).not.toBeNull();
  await t.deps.catalog.refresh();
  expect((await sessionOf()).shown).toBeUndefined();
  await coupons.add(offer.id, { codes: ['C'] });
  expect((await coupons.pool(offer.id)).data.paused_since).not.toBeNull();
  await coupons.change(offer.id, { expires_at: inHours(1) });
  expect((await coupons.pool(offer.id)).data.paused_since).toBeNull();
  await t.deps.catalog.refresh();
  expect(await (await sessionOf()).wrap()).toMatchObject({ code: 'B' });
});

test('a pool with a fallback code assigns it after the expiry, without an expiry date', async () => {
  await coupons.add(offer.id, { codes: ['A'] });
  await coupons.change(offer.id, { expires_at: inHours(1), fallback_code: 'ALWAYS' });
  const session = await sessionOf();
  t.clock.ms += 2 * hourMs;
  expect(await session.wrap()).toEqual({ code: 'ALWAYS', expires_at: null, terms: '' });
  expect((await coupons.pool(offer.id)).data.paused_since).toBeNull();
});

test('a shared code is neither shown nor assigned after its expiry', async () => {
  await coupons.add(offer.id, { shared: 'ALL' });
  await coupons.change(offer.id, { expires_at: inHours(1) });
  await t.deps.catalog.refresh();
  const [early, late] = [await sessionOf(), await sessionOf()];
  expect(early.shown?.coupon).toMatchObject({ code: 'ALL' });
  expect(await early.wrap()).toMatchObject({ code: 'ALL' });
  t.clock.ms += 2 * hourMs;
  const after = await sessionOf();
  expect(after.shown).toBeDefined(); // until the pool is marked
  expect(after.shown).not.toHaveProperty('coupon');
  expect(await late.wrap()).toBeNull();
  await t.deps.catalog.refresh();
  expect((await sessionOf()).shown).toBeUndefined();
});

test('a held code is not assigned after its pool has expired', async () => {
  await coupons.add(offer.id, { codes: ['A'] });
  await coupons.change(offer.id, { expires_at: inHours(1), hold_minutes: 600, fallback_code: 'F' });
  await t.deps.catalog.refresh();
  const session = await sessionOf();
  await session.select();
  expect((await coupons.count(offer.id)).data).toMatchObject({ held: 1 });
  t.clock.ms += 2 * hourMs;
  expect(await session.wrap()).toMatchObject({ code: 'F' });
  expect((await coupons.count(offer.id)).data).toMatchObject({ held: 0, given: 1 });
});

test('a code whose own validity has ended is not shown again', async () => {
  await coupons.add(offer.id, { codes: ['A', 'B'] });
  await coupons.change(offer.id, { valid_days: 1 });
  await t.deps.catalog.refresh();
  const session = await sessionOf();
  expect(await session.wrap()).toMatchObject({ code: 'A' });
  expect(await session.wrap()).toMatchObject({ code: 'A' });
  t.clock.ms += 25 * hourMs;
  expect(await session.wrap()).toBeFalsy();
  expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, left: 1 });
});

test('the stock check pauses the offer of an expired pool until the expiry is moved', async () => {
  await coupons.add(offer.id, { codes: ['A'] });
  await coupons.change(offer.id, { expires_at: inHours(1) });
  await markStock(t.pool, null, t.clock.ms + hourMs - 1);
  expect((await coupons.pool(offer.id)).data.paused_since).toBeNull();
  t.clock.ms += hourMs;
  await markStock(t.pool, null, t.clock.ms);
  expect((await coupons.pool(offer.id)).data.paused_since).not.toBeNull();
  await coupons.change(offer.id, { expires_at: null });
  expect((await coupons.pool(offer.id)).data.paused_since).toBeNull();
});

test('an expiry in the past is rejected in any time zone, but a stored one that has passed is kept', async () => {
  await coupons.add(offer.id, { codes: ['A'] });
  const local = (ms: number, offsetMinutes: number): string => {
    const sign = offsetMinutes < 0 ? '-' : '+';
    const minutes = Math.abs(offsetMinutes);
    const zone = `${sign}${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
    return `${new Date(ms + offsetMinutes * 60_000).toISOString().slice(0, 19)}${zone}`;
  };
  for (const offset of [0, 330, -720, 840]) {
    const refused = await coupons.change(offer.id, { expires_at: local(t.clock.ms - 60_000, offset) });
    expect([refused.status, refused.body.error?.details?.[0]?.path]).toEqual([400, '/expires_at']);
    expect((await coupons.change(offer.id, { expires_at: local(t.clock.ms + 60_000, offset) })).status).toBe(200);
  }
  const { expires_at } = (await coupons.pool(offer.id)).data;
  t.clock.ms += hourMs;
  expect((await coupons.change(offer.id, { expires_at, terms: 'Ended.' })).status).toBe(200);
  expect((await coupons.change(offer.id, { expires_at: inHours(-2) })).status).toBe(400);
});
