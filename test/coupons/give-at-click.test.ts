import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addEndpoint, deliveriesOf, uspCalls } from '../perks/usp/calls.ts';
import { list, local, type SaveableOffer, save, showTo } from '../perks/wallet/support.ts';
import { createTwins, type TestApp } from '../support/test-app.ts';
import { call, fetchOffers, googlebot, type ShownOffer } from '../tracking/journey.ts';
import { couponCalls } from './support.ts';

let first: TestApp;
let second: TestApp;
let twins: Awaited<ReturnType<typeof createTwins>>;
let coupons: ReturnType<typeof couponCalls>;
let offer: ShownOffer;
let users = 0;
const nextUser = (): string => {
  users += 1;
  return `user-${users}`;
};

beforeAll(async () => {
  twins = await createTwins();
  ({ first, second } = twins);
  coupons = couponCalls(first);
  offer = (await fetchOffers(first)).offers[0] as ShownOffer;
});
afterAll(() => twins.close());
beforeEach(() => setLanding('https://shop.example/?code={coupon_code}'));
afterEach(() => coupons.removePool(offer.id));

async function setLanding(url: string): Promise<void> {
  await first.pool.query('update campaigns set landing_url = $2 where id = $1', [offer.campaign_id, url]);
  await refresh();
}

const refresh = () => Promise.all([first, second].map(({ deps }) => deps.catalog.refresh()));

/** Adds codes that are given to users at the click. */
async function load(codes: string[]): Promise<void> {
  await coupons.add(offer.id, { codes });
  await coupons.change(offer.id, { give_at: 'click' });
  await refresh();
}

/** Shows the offer to one user in a new session. */
async function showOffer(body: object = { pub_user_id: nextUser() }) {
  const { sessionId, offers } = await fetchOffers(first, { ...body });
  return { ...(offers.find(({ id }) => id === offer.id) as ShownOffer), sessionId };
}

/** Clicks the offer and returns the code that the landing page receives. */
async function click({ click_url }: ShownOffer, app = first, headers: Record<string, string> = {}) {
  const answer = await call(app, click_url, headers);
  expect(answer.statusCode).toBe(302);
  return new URL(answer.headers.location as string).searchParams.get('code');
}

describe('a click', () => {
  test('assigns the user a code, passes it to the landing page, and repeats it in all their sessions', async () => {
    await load(['A & 1', 'B-2']);
    const user = nextUser();
    const shownOffer = await showOffer({ pub_user_id: user });
    expect(await click(shownOffer)).toBe('A & 1');
    expect(await click(shownOffer)).toBe('A & 1');
    expect(await click(await showOffer({ pub_user_id: user }), second)).toBe('A & 1');
    expect(await click(await showOffer())).toBe('B-2');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 2, left: 0 });
  });

  test('assigns each code once for 64 users who each click three times concurrently in two processes', async () => {
    const codes = Array.from({ length: 64 }, (_, index) => `CODE-${index}`);
    await load(codes);
    const late = await showOffer();
    const all = await Promise.all(codes.map(() => showOffer()));
    const receivedCodes = await Promise.all(
      all.map((shownOffer) => Promise.all([click(shownOffer), click(shownOffer, second), click(shownOffer)])),
    );
    for (const same of receivedCodes) expect(new Set(same).size).toBe(1);
    expect(receivedCodes.map(([code]) => code).sort()).toEqual(codes.sort());
    expect(await click(late)).toBe('');
    expect((await coupons.count(offer.id)).data).toMatchObject({ total: 64, given: 64, left: 0 });
  });

  test('adds the code to the following wrap and its webhook', async () => {
    await load(['CLICKED']);
    await addEndpoint(first);
    const usp = uspCalls(first);
    const user = nextUser();
    const wrapOf = async (id: string) => {
      const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
      const { data } = await usp.call('POST', `session/${id}.json`, { body });
      return (data as unknown as { campaigns: unknown }).campaigns;
    };
    const before = await showOffer({ pub_user_id: user });
    expect(await wrapOf(before.sessionId)).toEqual([{ campaign_id: offer.campaign_id, coupon: null }]);
    const shownOffer = await showOffer({ pub_user_id: user });
    await click(shownOffer);
    const coupon = { code: 'CLICKED', expires_at: null, terms: '' };
    expect(await wrapOf(shownOffer.sessionId)).toEqual([{ campaign_id: offer.campaign_id, coupon }]);
    const payload = JSON.parse(String((await deliveriesOf(first, shownOffer.sessionId))[0]?.payload));
    expect(payload.body.campaigns).toMatchObject([{ coupon }]);
    await first.pool.query('delete from webhook_endpoints');
  });

  test('assigns no code to bots, prefetches or sessions without a user, and a test code to developers', async () => {
    await load(['KEPT']);
    expect(await click(await showOffer(), first, { 'user-agent': googlebot })).toBe('');
    expect((await call(first, (await showOffer()).click_url, { 'sec-purpose': 'prefetch' })).statusCode).toBe(204);
    expect(await click(await showOffer({}))).toBe('');
    expect(await click(await showOffer({ pub_user_id: nextUser(), dev: true }))).toBe('TEST-CODE');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 0, left: 1 });
    expect(await click(await showOffer())).toBe('KEPT');
  });

  test('is rejected if the code cannot be stored, and assigns it when it is retried', async () => {
    await load(['LATER']);
    const shownOffer = await showOffer();
    await first.pool.query('alter table coupons add constraint refuse check (false) not valid');
    expect((await call(first, shownOffer.click_url)).statusCode).toBeGreaterThanOrEqual(500);
    await first.pool.query('alter table coupons drop constraint refuse');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 0, left: 1 });
    expect(await click(shownOffer)).toBe('LATER');
  });

  test('assigns the code even if the landing page URL does not include it', async () => {
    await load(['SILENT']);
    await setLanding('https://shop.example/');
    const shownOffer = await showOffer();
    expect(await click(shownOffer)).toBeNull();
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1 });
    await setLanding('https://shop.example/?code={coupon_code}');
    expect(await click(shownOffer)).toBe('SILENT');
  });

  test('shows the code of a saved offer in the wallet, in the response and on the page', async () => {
    await load(['IN-WALLET']);
    const user = nextUser();
    const shownOffer = (await showTo(first, user)).find(({ id }) => id === offer.id) as SaveableOffer;
    const page = local((await save(first, shownOffer)).json().data.wallet_url);
    const inWallet = async () => {
      const { offers } = (await list(first, user)).json().data as { offers: { id: number; coupon?: unknown }[] };
      return offers.find(({ id }) => id === offer.id)?.coupon;
    };
    expect(await inWallet()).toBeUndefined();
    expect((await first.app.inject(page)).body).not.toContain('IN-WALLET');
    expect(await click(shownOffer)).toBe('IN-WALLET');
    expect(await inWallet()).toEqual({ code: 'IN-WALLET', expires_at: null, terms: '' });
    expect((await first.app.inject(page)).body).toContain('IN-WALLET');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1, left: 0 });
  });

  test("assigns no code if codes are assigned at the wrap, but passes on the user's existing code", async () => {
    await load(['WRAPPED']);
    await coupons.change(offer.id, { give_at: 'wrap' });
    await refresh();
    const user = nextUser();
    const shownOffer = await showOffer({ pub_user_id: user });
    expect(await click(shownOffer)).toBe('');
    const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
    await uspCalls(first).call('POST', `session/${shownOffer.sessionId}.json`, { body });
    expect(await click(shownOffer)).toBe('WRAPPED');
  });

  test('passes on a code shared by all users to everyone', async () => {
    await coupons.add(offer.id, { shared: 'FOR-ALL' });
    await refresh();
    expect(await click(await showOffer({}))).toBe('FOR-ALL');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 0 });
    await coupons.change(offer.id, { give_at: 'click' });
    await refresh();
    expect(await click(await showOffer())).toBe('FOR-ALL');
    expect((await coupons.count(offer.id)).data).toMatchObject({ given: 1 });
  });
});
