import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { cloneDatabase } from '../../support/database.ts';
import { createTestApp, createTwins, type TestApp } from '../../support/test-app.ts';
import { call, mintLike, startRelay, storedEvents } from '../../tracking/journey.ts';
import { addPublisher, local, save, saveUrlOf, showOneTo, showTo, storedItems } from './support.ts';

let twins: Awaited<ReturnType<typeof createTwins>>;
let first: TestApp;
let second: TestApp;
let nowMs = Date.now();
const dayMs = 86_400_000;

beforeAll(async () => {
  twins = await createTwins(() => nowMs);
  ({ first, second } = twins);
});
afterAll(() => twins?.close());
beforeEach(async () => {
  nowMs = Date.now();
  await first.pool.query('truncate wallet_items');
  await setWallet(true, true);
});

async function setWallet(publisher: boolean, offer: boolean): Promise<void> {
  await first.pool.query('update publishers set wallet_enabled = $1', [publisher]);
  await first.pool.query('update offers set wallet_enabled = $1', [offer]);
  await first.deps.catalog.refresh();
}

describe('POST save_for_later_url', () => {
  test('saves the offer for the user and returns the URL of the wallet', async () => {
    const offer = await showOneTo(first, 'user-1');
    expect(offer.save_for_later_url).toBe(`http://perks.test${saveUrlOf(offer)}`);
    const response = await save(first, offer);
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual({
      message: 'Offer saved successfully',
      data: { saved: true, wallet_url: expect.stringMatching(/^http:\/\/perks\.test\/wallet\?t=[\w-]{63}$/) },
    });
    expect(response.headers['access-control-allow-origin']).toBe('*');
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers['set-cookie']).toBeUndefined();
    expect(await storedItems(first)).toEqual([
      { offer_id: offer.id, pub_user_id: 'user-1', session_id: offer.sessionId },
    ]);
  });

  test('creates one row and one response for 64 concurrent calls in two processes and a late repeat', async () => {
    const offer = await showOneTo(first, 'racer');
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) => save(index % 2 === 0 ? first : second, offer)),
    );
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    nowMs += 3 * dayMs;
    const bodies = new Set([...answers, await save(second, offer)].map(({ body }) => body));
    expect(bodies.size).toBe(1);
    expect(await storedItems(first)).toHaveLength(1);
  });

  test.each([
    ['no body', {}, undefined],
    ['JSON', { 'content-type': 'application/json' }, '{"a":1}'],
    ['malformed JSON', { 'content-type': 'application/json' }, '{'],
    ['an empty JSON body', { 'content-type': 'application/json' }, ''],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b'],
    ['a multipart form', { 'content-type': 'multipart/form-data; boundary=x' }, '--x--'],
    ['text', { 'content-type': 'text/plain;charset=UTF-8' }, 'hello'],
    ['XML', { 'content-type': 'application/xml' }, '<a/>'],
  ])('accepts %s', async (_name, headers, payload) => {
    const offer = await showOneTo(first, 'body-user');
    const response = await first.app.inject({
      method: 'POST',
      url: saveUrlOf(offer),
      headers,
      ...(payload === undefined ? {} : { payload }),
    });
    expect(response.statusCode, response.body).toBe(200);
  });

  test('rejects a body over 64 KiB', async () => {
    const offer = await showOneTo(first, 'body-user');
    const response = await first.app.inject({ method: 'POST', url: saveUrlOf(offer), payload: Buffer.alloc(70_000) });
    expect(response.statusCode).toBe(413);
  });

  test('answers a CORS preflight from any origin', async () => {
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const response = await first.app.inject({ method: 'OPTIONS', url: '/wallet/v1/save.json', headers });
    expect(response.statusCode).toBe(204);
    expect(response.headers['access-control-allow-origin']).toBe('*');
  });

  test('keeps an offer that is saved again, and assigns its clicks to the newer session', async () => {
    const older = await showOneTo(first, 'again');
    await save(first, older);
    nowMs += 60_000;
    const newer = await showOneTo(first, 'again');
    expect(newer.id).toBe(older.id);
    await save(first, newer);
    await save(first, older);
    expect(await storedItems(first)).toEqual([
      { offer_id: older.id, pub_user_id: 'again', session_id: newer.sessionId },
    ]);
  });

  test('keeps hostile user IDs distinct and unchanged', async () => {
    const hostile = [
      "'; drop table wallet_items; --",
      '<script>alert(1)</script>',
      '{{7*7}}',
      '../../etc',
      'ü😀',
      'a"b\\c',
      'x'.repeat(256),
    ];
    for (const pubUserId of hostile)
      expect((await save(first, await showOneTo(first, pubUserId))).statusCode).toBe(200);
    expect((await storedItems(first)).map((item) => item.pub_user_id).sort()).toEqual([...hostile].sort());
  });
});

describe('400 invalid_token', () => {
  const expectRefused = async (query: string) => {
    for (const method of ['POST', 'GET'] as const) {
      const response = await first.app.inject({
        method,
        url: `/wallet/v1/save.json${query}`,
        remoteAddress: '10.1.2.3',
      });
      expect(response.statusCode).toBe(400);
      expect(response.json().error.code).toBe('invalid_token');
    }
    expect(await storedItems(first)).toEqual([]);
  };

  test('for a missing, malformed, altered or repeated token', async () => {
    const token = saveUrlOf(await showOneTo(first, 'u')).split('=')[1] as string;
    const altered = token.slice(0, 40) + (token[40] === 'A' ? 'B' : 'A') + token.slice(41);
    for (const query of ['', '?t=', '?t=nonsense', `?t=${altered}`, `?t=${token}&t=${token}`, `?t=${token}A`])
      await expectRefused(query);
  });

  test("for a token of another publisher's offer or of an unknown session", async () => {
    const offer = await showOneTo(first, 'u');
    await expectRefused(`?t=${mintLike(first, offer, { publisherId: 999_999 })}`);
    await expectRefused(`?t=${mintLike(first, offer, { offerId: 999_999 })}`);
    await expectRefused(`?t=${mintLike(first, offer, { sessionId: newUuid7(nowMs) })}`);
    const other = await addPublisher(first);
    const theirs = await showOneTo(other, 'u');
    await expectRefused(`?t=${mintLike(first, theirs, { publisherId: first.publisher.id })}`);
    // Another publisher's session is rejected, even with an offer of this publisher.
    await expectRefused(`?t=${mintLike(first, offer, { sessionId: theirs.sessionId })}`);
  });

  test('after 30 days, and not a day earlier', async () => {
    const offer = await showOneTo(first, 'late');
    nowMs += 31 * dayMs;
    await expectRefused(saveUrlOf(offer).slice('/wallet/v1/save.json'.length));
    nowMs -= 2 * dayMs;
    expect((await save(first, offer)).statusCode).toBe(200);
  });

  test('responds with 429 after too many invalid tokens, but still accepts valid ones', async () => {
    const offer = await showOneTo(first, 'u');
    const guesses = await Promise.all(
      Array.from({ length: 150 }, () =>
        first.app.inject({ method: 'POST', url: '/wallet/v1/save.json?t=x', remoteAddress: '10.9.9.9' }),
      ),
    );
    expect(guesses.filter(({ statusCode }) => statusCode === 429).length).toBeGreaterThan(20);
    const good = await first.app.inject({ method: 'POST', url: saveUrlOf(offer), remoteAddress: '10.9.9.9' });
    expect(good.statusCode).toBe(200);
  });
});

describe('403 wallet_not_enabled', () => {
  const expectOff = async (url: string, methods: readonly ('POST' | 'GET')[] = ['POST', 'GET']) => {
    for (const method of methods) {
      const response = await first.app.inject({ method, url });
      expect(response.statusCode).toBe(403);
      expect(response.json().error.code).toBe('wallet_not_enabled');
    }
    expect(await storedItems(first)).toEqual([]);
  };

  test('if the publisher has no wallet', async () => {
    const offer = await showOneTo(first, 'u');
    await setWallet(false, true);
    expect((await showOneTo(first, 'u')).save_for_later_url).toBeNull();
    await expectOff(saveUrlOf(offer));
  });

  test('if the offer may not be saved, although the page still works', async () => {
    const offer = await showOneTo(first, 'u');
    await setWallet(true, false);
    await expectOff(saveUrlOf(offer), ['POST']);
    expect((await first.app.inject(saveUrlOf(offer))).statusCode).toBe(302);
  });

  test('if the session has no user', async () => {
    const [offer] = await showTo(first, null);
    expect(offer?.save_for_later_url).toBeNull();
    await expectOff(saveUrlOf(offer as never));
    await expectOff(`/wallet/v1/save.json?t=${mintLike(first, offer as never, { sessionId: null, position: 0 })}`);
  });
});

test('a developer session gets the usual response and stores nothing', async () => {
  const offer = await showOneTo(first, 'developer', { dev: 1 });
  const response = await save(first, offer);
  expect(response.statusCode).toBe(200);
  expect(response.json().data).toEqual({ saved: true, wallet_url: expect.stringContaining('/wallet?t=') });
  expect(await storedItems(first)).toEqual([]);
  expect((await first.app.inject(saveUrlOf(offer))).statusCode).toBe(302);
});

test('GET and clicks with save_for_later=1 redirect to the page and save nothing', async () => {
  const offer = await showOneTo(first, 'other-user');
  const click = await call(first, `${offer.click_url}&save_for_later=1`);
  expect(click.headers.location).toBe(offer.save_for_later_url);
  const response = await first.app.inject(local(String(click.headers.location)));
  expect(response.statusCode).toBe(302);
  expect(response.headers['cache-control']).toBe('no-store');
  const location = String(response.headers.location);
  expect(location).toMatch(/^http:\/\/perks\.test\/wallet\?t=/);
  expect((await first.app.inject(local(location))).statusCode).toBe(200);
  expect(await storedItems(first)).toEqual([]);
  expect((await save(first, offer)).json().data.wallet_url.split('&')[0]).toBe(location.split('&')[0]);
  expect(await storedEvents(first)).toEqual([]);
});

test('responds with 503 and retry-after, never a false success, during a database outage', async () => {
  const database = await cloneDatabase();
  const relay = await startRelay(database.url);
  const behind = await createTestApp({ databaseUrl: relay.url });
  try {
    const offer = await showOneTo(behind, 'patient');
    relay.cut();
    const atOnce = await save(behind, offer);
    await expect.poll(behind.deps.dbHealth.isUp).toBe(false);
    for (const response of [atOnce, await save(behind, offer), await behind.app.inject(saveUrlOf(offer))]) {
      expect(response.statusCode).toBe(503);
      expect(response.headers['retry-after']).toBe('1');
    }
    relay.restore();
    await expect.poll(async () => (await save(behind, offer)).statusCode).toBe(200);
  } finally {
    await behind.close();
    relay.close();
    await database.drop();
  }
});
