import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkCoupons } from '../../src/alerts/checks.ts';
import { markStock } from '../../src/coupons/pools.ts';
import { messageCalls } from '../messages/support.ts';
import { addEndpoint, deliveriesOf, uspCalls } from '../perks/usp/calls.ts';
import { list, save } from '../perks/wallet/support.ts';
import { startTestJobs } from '../support/jobs.ts';
import { openMailServer } from '../support/smtp-server.ts';
import { createTestApp } from '../support/test-app.ts';
import { call, fetchOffers, type ShownOffer } from '../tracking/journey.ts';
import { couponCalls } from './support.ts';

const hourMs = 3_600_000;
const clock = { ms: Date.now() };

let t: Awaited<ReturnType<typeof createTestApp>>;
let smtp: Awaited<ReturnType<typeof openMailServer>>;
let job: Awaited<ReturnType<typeof startTestJobs>>;
let coupons: ReturnType<typeof couponCalls>;
let offer: ShownOffer;
let users = 0;
beforeAll(async () => {
  smtp = await openMailServer();
  t = await createTestApp({ now: () => clock.ms, config: { mail: smtp.mail } });
  job = await startTestJobs(t, 'perk messages');
  coupons = couponCalls(t);
  offer = (await fetchOffers(t)).offers[0] as ShownOffer;
  await t.pool.query("update campaigns set landing_url = 'https://shop.example/?code={coupon_code}' where id = $1", [
    offer.campaign_id,
  ]);
  await messageCalls(t).settings({ enabled: true, from_name: '', reply_to: null });
  await addEndpoint(t);
});
afterAll(async () => {
  await job?.stop();
  await t?.close();
  await smtp?.close();
});
beforeEach(() => {
  users += 1;
  smtp.received.length = 0;
});
afterEach(async () => {
  await coupons.removePool(offer.id);
  await t.deps.catalog.refresh();
});

/** Creates a pool with one code that expires in an hour, and a user's session from before that time. */
async function sessionBeforeEnd(pool: object) {
  await coupons.add(offer.id, { codes: [`SPENT-${users}`] });
  await coupons.change(offer.id, { expires_at: new Date(clock.ms + hourMs).toISOString(), ...pool });
  await t.deps.catalog.refresh();
  const user = `late-${users}`;
  const { sessionId, offers } = await fetchOffers(t, { pub_user_id: user });
  const shownOffer = { ...(offers.find(({ id }) => id === offer.id) as ShownOffer), sessionId };
  return { user, sessionId, shown: shownOffer };
}

const passEnd = (): void => {
  clock.ms += hourMs;
};
const countCodes = async () => (await coupons.count(offer.id)).data;

test('a click after the pool has expired leads to the landing page without a code', async () => {
  const { shown: shownOffer } = await sessionBeforeEnd({ give_at: 'click' });
  passEnd();
  const answer = await call(t, shownOffer.click_url);
  expect([answer.statusCode, new URL(String(answer.headers.location)).searchParams.get('code')]).toEqual([302, '']);
  expect(await countCodes()).toMatchObject({ given: 0, left: 1, expired: true });
});

test('a click after a pool with a fallback has expired leads to the landing page with the fallback code', async () => {
  const { shown: shownOffer } = await sessionBeforeEnd({ give_at: 'click', fallback_code: 'ALWAYS' });
  passEnd();
  const answer = await call(t, shownOffer.click_url);
  expect(new URL(String(answer.headers.location)).searchParams.get('code')).toBe('ALWAYS');
  expect(await countCodes()).toMatchObject({ left: 1 });
});

test('an offer saved after its pool has expired has no code in the wallet and webhook', async () => {
  const { user, sessionId, shown: shownOffer } = await sessionBeforeEnd({ give_at: 'save' });
  passEnd();
  expect((await save(t, shownOffer)).statusCode).toBe(200);
  const saved = (await list(t, user)).json().data.offers as { id: number; coupon?: unknown }[];
  expect(saved.map(({ coupon }) => coupon ?? null)).toEqual([null]);
  expect(await countCodes()).toMatchObject({ given: 0, left: 1 });
  const payloadText = (await deliveriesOf(t, sessionId)).map(({ payload }) => String(payload)).join();
  expect(payloadText).not.toContain('SPENT');
});

test('a wrap after the pool has expired puts no code in the webhook or the mail', async () => {
  const { user, sessionId } = await sessionBeforeEnd({});
  passEnd();
  const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
  const mail = { consent: true, email: `${user}@shop.example` };
  const answer = await uspCalls(t).call('POST', `session/${sessionId}.json`, { body: { ...body, ...mail } });
  expect(answer.status).toBe(200);
  expect(JSON.stringify(answer)).not.toContain('SPENT');
  const [delivery] = await deliveriesOf(t, sessionId);
  expect(JSON.parse(String(delivery?.payload)).body.campaigns).toMatchObject([{ coupon: null }]);
  await messageCalls(t).untilState(sessionId, 'sent');
  expect(smtp.received).toHaveLength(1);
  expect(smtp.received[0]?.raw).not.toContain('SPENT');
  expect(await countCodes()).toMatchObject({ given: 0, left: 1 });
});

test('an expired pool with codes left raises the empty-pool alert until its expiry is moved', async () => {
  await sessionBeforeEnd({});
  const alerts = async (): Promise<string[]> => {
    await markStock(t.pool, null, clock.ms);
    for (const _ of [1, 2]) await checkCoupons({ ...t.deps, now: () => clock.ms });
    const { rows } = await t.pool.query<{ kind: string; over: boolean }>(
      "select kind, ended_at is not null as over from alerts where kind = 'coupons.empty' and subject = $1 order by id",
      [String(offer.id)],
    );
    return rows.map(({ kind, over }) => `${kind}${over ? ' over' : ''}`);
  };
  await t.pool.query("delete from alerts where kind like 'coupons.%'");
  expect(await alerts()).toEqual([]);
  passEnd();
  expect(await alerts()).toEqual(['coupons.empty']);
  await coupons.change(offer.id, { expires_at: null });
  expect(await alerts()).toEqual(['coupons.empty over']);
});
