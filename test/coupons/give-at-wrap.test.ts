import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addEndpoint, deliveriesOf, type UspCalls, uspCalls } from '../perks/usp/calls.ts';
import { untilWaiting } from '../support/locks.ts';
import { createTwins, type TestApp } from '../support/test-app.ts';
import { couponCalls } from './support.ts';

let t: TestApp;
let twins: Awaited<ReturnType<typeof createTwins>>;
let usp: UspCalls;
let coupons: ReturnType<typeof couponCalls>;
beforeAll(async () => {
  twins = await createTwins();
  t = twins.first;
  usp = uspCalls(t);
  coupons = couponCalls(t);
});
afterAll(() => twins.close());

type WrappedCampaign = { campaign_id: number; coupon: { code: string } | null };

let offer: { id: number; campaign_id: number };
let session: Awaited<ReturnType<UspCalls['fetch']>>;
let users = 0;
const nextUser = (): string => {
  users += 1;
  return `user-${users}`;
};
beforeEach(async () => {
  for (const { deps } of [t, twins.second]) await deps.catalog.refresh();
  await addEndpoint(t);
  session = await usp.fetch({ pub_user_id: nextUser() });
  offer = session.offers[0] as typeof offer;
});
afterEach(async () => {
  await coupons.removePool(offer.id);
  await t.pool.query('delete from webhook_endpoints');
});

/** Wraps a new session of a user who selected the offer. */
async function wrapOf(user: string, calls: UspCalls = usp) {
  const { id } = await calls.fetch({ pub_user_id: user });
  return wrapSession(id, user, calls);
}

async function wrapSession(id: string, user: string, calls: UspCalls = usp) {
  const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
  const answer = await calls.call('POST', `session/${id}.json`, { body });
  expect(answer.status).toBe(200);
  const { campaigns } = answer.data as unknown as { campaigns?: WrappedCampaign[] };
  return { id, campaigns, code: campaigns?.[0]?.coupon?.code };
}

const campaignsOf = async (id: string): Promise<Record<string, unknown>[]> =>
  JSON.parse(String((await deliveriesOf(t, id))[0]?.payload)).body.campaigns;

describe('a wrap', () => {
  test('has the usual response and webhook if the offer has no codes', async () => {
    const { id, campaigns } = await wrapOf(nextUser());
    expect(campaigns).toBeUndefined();
    expect((await campaignsOf(id))[0]).not.toHaveProperty('coupon');
  });

  test('assigns the user a code in the response and the webhook, and returns it again on a repeat', async () => {
    await coupons.add(offer.id, { codes: ['FIRST-1', 'SECOND-2'] });
    await coupons.change(offer.id, { terms: 'Once a person', expires_at: '2031-01-02T03:04:05Z' });
    const user = nextUser();
    const { id, campaigns } = await wrapOf(user);
    const coupon = { code: 'FIRST-1', expires_at: '2031-01-02T03:04:05.000Z', terms: 'Once a person' };
    expect(campaigns).toEqual([{ campaign_id: offer.campaign_id, coupon }]);
    expect((await campaignsOf(id))[0]).toMatchObject({ campaign_id: offer.campaign_id, coupon });
    expect((await wrapSession(id, user)).campaigns).toEqual(campaigns);
    expect((await usp.get(id, { user })).data).toMatchObject({ campaigns });
    expect((await coupons.count(offer.id)).data).toMatchObject({ total: 2, given: 1, redeemed: 0, left: 1 });
  });

  test('gets its code after a deadlock with another wrap of the session, which locks the session first', async () => {
    await coupons.add(offer.id, { codes: ['LOCKED-1'] });
    const user = nextUser();
    const { id } = await usp.fetch({ pub_user_id: user });
    await usp.select(id, offer.campaign_id, { user });
    const client = await t.pool.connect();
    try {
      await client.query('begin');
      await client.query('select from usp_sessions where session_id = $1 for update', [id]);
      const wrapping = usp.call('POST', `session/${id}.json`, { body: { action: 'wrap', pub_user_id: user } });
      await untilWaiting(twins.second.pool, 1);
      await client.query('select from coupon_stock where offer_id = $1 for update', [offer.id]);
      await client.query('commit');
      const { status, data } = await wrapping;
      expect([status, data]).toMatchObject([200, { campaigns: [{ coupon: { code: 'LOCKED-1' } }] }]);
    } finally {
      client.release();
    }
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, left: 0 });
    expect(await deliveriesOf(t, id)).toHaveLength(1);
  });

  test('assigns a user one code per offer, however many sessions are wrapped', async () => {
    await coupons.add(offer.id, { codes: ['A-1', 'A-2', 'A-3'] });
    await twins.second.deps.catalog.refresh();
    const user = nextUser();
    const codes = await Promise.all([wrapOf(user), wrapOf(user, uspCalls(twins.second)), wrapOf(user)]);
    expect(new Set(codes.map(({ code }) => code)).size).toBe(1);
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, left: 2 });
  });

  test('assigns 64 codes once each for 65 concurrent users in two processes, and then pauses the offer', async () => {
    const codes = Array.from({ length: 64 }, (_, index) => `CODE-${index}`);
    await coupons.add(offer.id, { codes });
    await twins.second.deps.catalog.refresh();
    const others = uspCalls(twins.second);
    const sessions = await Promise.all(
      Array.from({ length: 65 }, async (_, index) => {
        const calls = index % 2 === 0 ? usp : others;
        const user = nextUser();
        return { calls, user, id: (await calls.fetch({ pub_user_id: user })).id };
      }),
    );
    const wrapped = await Promise.all(sessions.map(({ calls, user, id }) => wrapSession(id, user, calls)));
    const issuedCodes = wrapped.flatMap(({ code }) => code ?? []);
    expect(issuedCodes.sort()).toEqual(codes.sort());
    const without = wrapped.filter(({ code }) => code === undefined);
    expect(without.map(({ campaigns }) => campaigns)).toEqual([[{ campaign_id: offer.campaign_id, coupon: null }]]);
    expect(await campaignsOf(without[0]?.id ?? '')).toMatchObject([{ coupon: null }]);
    expect((await coupons.count(offer.id)).data).toMatchObject({ total: 64, given: 64, left: 0, low: true });
    expect((await coupons.pool(offer.id)).data.paused_since).not.toBeNull();
    await t.deps.catalog.refresh();
    expect(t.deps.catalog.current().offers.get(offer.id)).toMatchObject({ active: false, stopped: 'codes' });
    await coupons.add(offer.id, { codes: ['ONE-MORE'] });
    expect(t.deps.catalog.current().offers.get(offer.id)).toMatchObject({ active: true, stopped: null });
  });

  test('assigns each code once if another process, the user or the operator intervenes between wraps', async () => {
    const codes = Array.from({ length: 12 }, (_, index) => `TURN-${index}`);
    await coupons.add(offer.id, { codes });
    await twins.second.deps.catalog.refresh();
    const others = uspCalls(twins.second);
    const returning = nextUser();
    const wrapped: (string | undefined)[] = [];
    // A process assigns codes without locks only if no other process has assigned any between its last two wraps.
    for (const calls of [usp, usp, usp, others, usp, usp, usp])
      wrapped.push((await wrapOf(wrapped.length === 0 ? returning : nextUser(), calls)).code);
    expect(wrapped).toEqual(codes.slice(0, 7));
    expect((await wrapOf(returning)).code).toBe(codes[0]);
    expect((await wrapOf(nextUser())).code).toBe(codes[7]);
    const user = nextUser();
    const { id } = await usp.fetch({ pub_user_id: user });
    const twice = await Promise.all([wrapSession(id, user), wrapSession(id, user, others)]);
    expect(twice.map(({ code }) => code)).toEqual([codes[8], codes[8]]);
    expect((await campaignsOf(id))[0]).toMatchObject({ coupon: { code: codes[8] } });
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 9, left: 3 });
    for (const next of [codes[9], codes[10]]) expect((await wrapOf(nextUser())).code).toBe(next);
    await coupons.removeCodes(offer.id);
    await coupons.add(offer.id, { codes: ['NEW-1', 'NEW-2'] });
    expect((await wrapOf(nextUser())).code).toBe('NEW-1');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 12, left: 1 });
  });

  test('assigns the fallback code if no other code is left, and does not pause the offer', async () => {
    await coupons.add(offer.id, { codes: ['LAST'] });
    await coupons.change(offer.id, { fallback_code: 'FOR-ALL' });
    expect((await wrapOf(nextUser())).code).toBe('LAST');
    expect((await wrapOf(nextUser())).code).toBe('FOR-ALL');
    expect((await coupons.pool(offer.id)).data).toMatchObject({ paused_since: null, has_fallback: true });
    expect(JSON.stringify((await coupons.pool(offer.id)).body)).not.toContain('FOR-ALL');
  });

  test("uses no code in a developer's session", async () => {
    await coupons.add(offer.id, { codes: ['REAL'] });
    const user = nextUser();
    const { id } = await usp.fetch({ pub_user_id: user, dev: true });
    expect((await wrapSession(id, user)).code).toBe('TEST-CODE');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 0, left: 1 });
  });

  test('assigns no code if it fails', async () => {
    await coupons.add(offer.id, { codes: ['KEPT'] });
    const user = nextUser();
    const { id } = await usp.fetch({ pub_user_id: user });
    await t.pool.query('alter table deliveries add constraint refuse check (false) not valid');
    const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
    expect((await usp.call('POST', `session/${id}.json`, { body })).status).toBeGreaterThanOrEqual(500);
    await t.pool.query('alter table deliveries drop constraint refuse');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 0, left: 1 });
    expect((await wrapSession(id, user)).code).toBe('KEPT');
  });
});

test('individual codes are in no response before the wrap, but a shared code is', async () => {
  await coupons.add(offer.id, { codes: ['OWN-CODE'] });
  expect(JSON.stringify(await usp.fetch({ pub_user_id: nextUser() }))).not.toMatch(/OWN-CODE|"coupon"/);
  await coupons.removePool(offer.id);
  await coupons.add(offer.id, { shared: 'SHARED-CODE' });
  const { offers } = await usp.fetch({ pub_user_id: nextUser() });
  const coupon = { code: 'SHARED-CODE', expires_at: null, terms: '' };
  expect(offers.find(({ id }) => id === offer.id)).toMatchObject({ coupon });
  expect((await wrapOf(nextUser())).campaigns).toEqual([{ campaign_id: offer.campaign_id, coupon }]);
  expect((await coupons.count(offer.id)).data).toMatchObject({ total: 1, given: 1, left: 1 });
});

test('codes are stored sealed', async () => {
  await coupons.add(offer.id, { codes: ['SEALED-GIVEN', 'SEALED-LEFT'] });
  await coupons.change(offer.id, { fallback_code: 'SEALED-FALLBACK' });
  await wrapOf(nextUser());
  const { rows } = await t.pool.query<{ text: string }>(
    `select string_agg(row_to_json(x)::text, ' ') as text from (
      select to_jsonb(c) || jsonb_build_object('plain', encode(sealed, 'escape')) as row from coupons c
      union all select to_jsonb(b) || jsonb_build_object('plain', encode(sealed, 'escape')) from coupon_blocks b
      union all select to_jsonb(p) || jsonb_build_object('plain', encode(fallback_sealed, 'escape')) from coupon_pools p
      union all select to_jsonb(a) from audit_log a
    ) x`,
  );
  expect(rows[0]?.text).toContain('offer_id');
  expect(rows[0]?.text).not.toContain('SEALED-');
});
