import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, storedEvents } from '../../tracking/journey.ts';
import { addPublisher, list, remove, save, saveOneFor, showTo, storedItems } from './support.ts';

let testApp: TestApp;
let other: TestApp;
let nowMs = Date.now();

beforeAll(async () => {
  testApp = await createTestApp({ now: () => nowMs });
  other = await addPublisher(testApp);
});
afterAll(() => testApp?.close());
beforeEach(async () => {
  nowMs = Date.now();
  await testApp.pool.query('truncate wallet_items, events');
  await testApp.pool.query('update offers set active = true');
  await testApp.deps.catalog.refresh();
});

describe('GET /wallet/v1/offers.json', () => {
  test("lists the user's saved offers, newest first, with all fields of a fetched offer", async () => {
    const fetchedOffers = await showTo(testApp, 'lister');
    for (const offer of fetchedOffers.slice(0, 2)) {
      await save(testApp, offer);
      nowMs += 1000;
    }
    const response = await list(testApp, ' lister ');
    expect(response.statusCode).toBe(200);
    expect(response.headers['cache-control']).toBe('no-store');
    const { offers, count } = response.json().data;
    expect(count).toBe(2);
    expect(offers.map((offer: { id: number }) => offer.id)).toEqual([fetchedOffers[1]?.id, fetchedOffers[0]?.id]);
    for (const [index, offer] of offers.entries()) {
      const { saved_at, state, ...rest } = offer;
      expect(rest).toEqual(
        Object.fromEntries(Object.entries(fetchedOffers[1 - index] ?? {}).filter(([name]) => name !== 'sessionId')),
      );
      expect(state).toBe('active');
      expect(Date.parse(saved_at)).toBeLessThan(nowMs);
    }
  });

  test('contains the link to the page of the same wallet', async () => {
    const { offer } = await saveOneFor(testApp, 'owner');
    const { wallet_url } = (await list(testApp, 'owner')).json().data;
    expect((await call(testApp, wallet_url)).body).toContain(`<h2 dir="auto">${offer.title}</h2>`);
    nowMs += 59 * 86_400_000;
    expect((await call(testApp, wallet_url)).statusCode).toBe(200);
    nowMs += 86_400_000;
    expect((await call(testApp, wallet_url)).statusCode).toBe(400);
  });

  test('is empty for a user without saved offers', async () => {
    expect((await list(testApp, 'nobody')).json().data).toMatchObject({ offers: [], count: 0 });
  });

  test('contains the texts as the user saw them', async () => {
    const [offer] = await showTo(testApp, 'macro-user');
    await testApp.pool.query("update offers set title = 'For {{first_name|you}}' where id = $1", [offer?.id]);
    await testApp.deps.catalog.refresh();
    const [shownOffer] = await showTo(testApp, 'macro-user', { first_name: "O'Brien <b>" });
    expect(shownOffer?.title).toBe('For O&#39;Brien &lt;b&gt;');
    await save(testApp, shownOffer as never);
    expect((await list(testApp, 'macro-user')).json().data.offers[0].title).toBe(shownOffer?.title);
  });

  test('has click URLs that count for the session of the save, and redirect even after 30 days', async () => {
    const [offer] = await showTo(testApp, 'clicker');
    await call(testApp, offer?.pixel ?? '');
    await save(testApp, offer as never);
    nowMs += 10 * 86_400_000;
    const early = (await list(testApp, 'clicker')).json().data.offers[0];
    expect((await call(testApp, early.click_url)).statusCode).toBe(302);
    expect(await storedEvents(testApp)).toMatchObject([
      { kind: 'impression', session_id: offer?.sessionId },
      { kind: 'click', session_id: offer?.sessionId, suspicious: null },
    ]);
    nowMs += 30 * 86_400_000;
    const late = (await list(testApp, 'clicker')).json().data.offers[0];
    expect(late.click_url).not.toBe(early.click_url);
    const { rows } = await testApp.pool.query('select create_day_partitions(current_date + 38, current_date + 42)');
    expect(rows).toHaveLength(1);
    expect((await call(testApp, late.click_url)).statusCode).toBe(302);
    expect((await call(testApp, early.click_url)).statusCode).toBe(400);
  });

  test('still lists an offer whose campaign has ended, as expired and without a link', async () => {
    const { offer } = await saveOneFor(testApp, 'late-comer');
    const until = async (end_at: string | null) => {
      const rules = end_at === null ? {} : { schedule: { end_at } };
      await testApp.pool.query(
        'update campaigns set rules = $2 where id = (select campaign_id from offers where id = $1)',
        [offer.id, rules],
      );
      await testApp.deps.catalog.refresh();
      return (await list(testApp, 'late-comer')).json().data;
    };
    expect((await until(new Date(nowMs + 60_000).toISOString())).offers).toMatchObject([
      { id: offer.id, state: 'active' },
    ]);
    const { offers, wallet_url } = await until(new Date(nowMs - 1000).toISOString());
    expect(offers).toMatchObject([{ id: offer.id, state: 'expired', click_url: wallet_url }]);
    await until(null);
  });

  test('lists a paused offer as expired, and leaves out an offer that was deleted long ago', async () => {
    const { offer } = await saveOneFor(testApp, 'pauser');
    await testApp.pool.query('update offers set active = false where id = $1', [offer.id]);
    await testApp.deps.catalog.refresh();
    const { offers, wallet_url } = (await list(testApp, 'pauser')).json().data;
    expect(offers).toMatchObject([{ id: offer.id, state: 'expired' }]);
    expect(offers[0].click_url, 'opens nothing but the wallet').toBe(wallet_url);
    await testApp.pool.query("update offers set deleted_at = now() - interval '40 days' where id = $1", [offer.id]);
    await testApp.deps.catalog.refresh();
    expect((await list(testApp, 'pauser')).json().data).toMatchObject({ offers: [], count: 0 });
    await testApp.pool.query('update offers set deleted_at = null');
  });
});

describe('DELETE /wallet/v1/offers/{offer_id}.json', () => {
  test('removes the offer, and responds with 404 if it is missing or already removed', async () => {
    const { offer } = await saveOneFor(testApp, 'remover');
    const response = await remove(testApp, offer.id, 'remover');
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual({ message: 'Offer removed', data: { removed: true, offer_id: offer.id } });
    expect(await storedItems(testApp)).toEqual([]);
    for (const id of [offer.id, 999_999, 'x', '0', '99999999999999']) {
      const again = await remove(testApp, id, 'remover');
      expect(again.statusCode).toBe(404);
      expect(again.json().error.code).toBe('saved_offer_not_found');
    }
    await save(testApp, offer);
    expect((await list(testApp, 'remover')).json().data.count).toBe(1);
  });

  test('removes an offer once for 64 concurrent calls', async () => {
    const { offer } = await saveOneFor(testApp, 'remover');
    const answers = await Promise.all(Array.from({ length: 64 }, () => remove(testApp, offer.id, 'remover')));
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1);
    expect(answers.filter(({ statusCode }) => statusCode === 404)).toHaveLength(63);
  });
});

test('the same user ID at another publisher has a separate wallet', async () => {
  const ours = await saveOneFor(testApp, 'shared-name');
  expect((await list(other, 'shared-name')).json().data).toMatchObject({ offers: [], count: 0 });
  expect((await remove(other, ours.offer.id, 'shared-name')).statusCode).toBe(404);
  const theirs = await saveOneFor(other, 'shared-name');
  expect((await list(other, 'shared-name')).json().data.offers).toMatchObject([{ id: theirs.offer.id }]);
  expect((await list(testApp, 'shared-name')).json().data.offers).toMatchObject([{ id: ours.offer.id }]);
});

describe('access with a `wallet` key only', () => {
  test.each([
    ['no key', '', 401, 'missing_key'],
    ['an unknown key', 'nonsense', 401, 'unknown_key'],
    ['the SDK ID', '0123456789abcdef', 403, 'permission_denied'],
  ])('%s → %i', async (_name, key, status, code) => {
    for (const response of [await list(testApp, 'u', key), await remove(testApp, 1, 'u', key)]) {
      expect(response.statusCode).toBe(status);
      expect(response.json().error.code).toBe(code);
    }
  });

  test('a key without the permission → 403', async () => {
    await testApp.pool.query(
      "update api_keys set permissions = array_remove(permissions, 'wallet') where publisher_id = $1",
      [other.publisher.id],
    );
    await testApp.deps.catalog.refresh();
    expect((await list(other, 'u')).statusCode).toBe(403);
    await testApp.pool.query("update api_keys set permissions = permissions || '{wallet}' where publisher_id = $1", [
      other.publisher.id,
    ]);
    await testApp.deps.catalog.refresh();
  });
});

test.each([
  '',
  '&pub_user_id=',
  '&pub_user_id=%20',
  '&pub_user_id=a&pub_user_id=b',
  '&pub_user_id=a%00',
  `&pub_user_id=${'x'.repeat(257)}`,
])('400 for the query %s', async (query) => {
  const response = await testApp.app.inject(`/wallet/v1/offers.json?api_key=demo-key${query}`);
  expect(response.statusCode).toBe(400);
  expect(response.json().error.code).toBe('invalid_request');
});
