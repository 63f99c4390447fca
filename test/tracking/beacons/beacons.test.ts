import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { holdTable } from '../../support/locks.ts';
import { requestOver } from '../../support/request.ts';
import { createTwins, type TestApp } from '../../support/test-app.ts';
import {
  call,
  fetchOffers,
  googlebot,
  mintLike,
  type ShownOffer,
  showOffer,
  storedEvents,
  tokenOf,
} from '../journey.ts';

let twins: Awaited<ReturnType<typeof createTwins>>;
let first: TestApp;
let second: TestApp;
let nowMs = Date.now();

beforeAll(async () => {
  twins = await createTwins(() => nowMs);
  ({ first, second } = twins);
});
afterAll(() => twins?.close());
beforeEach(async () => {
  nowMs = Date.now();
  await first.pool.query('truncate events, user_history');
});

const beaconUrls = (offer: ShownOffer) =>
  [
    ['impression', offer.pixel],
    ['no_thanks', offer.beacons.no_thanks_click],
    ['close', offer.beacons.close],
  ] as const;

/**
 * Sends beacons concurrently. Beacons answered with 503 on a busy machine are sent again once the database is
 * available.
 */
async function sendAll(testApp: TestApp, urls: readonly string[]): Promise<void> {
  for (let remaining = urls; remaining.length > 0; ) {
    await expect.poll(() => testApp.deps.dbHealth.isUp()).toBe(true);
    const statuses = await Promise.all(remaining.map(async (url) => (await call(testApp, url)).statusCode));
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    remaining = remaining.filter((_, index) => statuses[index] === 503);
  }
}

describe('a beacon', () => {
  test('gets 200 with a transparent 1×1 PNG that is never cached and that any page may load', async () => {
    const offer = await showOffer(first);
    for (const [, url] of beaconUrls(offer)) {
      const response = await call(first, url);
      expect(response.statusCode).toBe(200);
      expect(response.headers).toMatchObject({
        'content-type': 'image/png',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'cross-origin',
        'access-control-allow-origin': '*',
        'content-length': String(response.rawPayload.length),
      });
      expect(response.headers['set-cookie']).toBeUndefined();
      const { data, info } = await sharp(response.rawPayload).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
      expect([info.width, info.height, data[3]]).toEqual([1, 1, 0]);
    }
  });

  test('is stored with its kind, session and offer, on the day of the session', async () => {
    const offer = await showOffer(first);
    nowMs += 20 * 3_600_000;
    for (const [, url] of beaconUrls(offer)) await call(first, url);
    const { rows } = await first.pool.query(
      `select kind, session_id, offer_id, campaign_id, publisher_id, position, suspicious,
        day = (select day from sessions where id = session_id) as of_session,
      round(extract(epoch from at) * 1000)::float8 as at
       from events order by kind`,
    );
    const { id: offer_id, campaign_id, sessionId: session_id } = offer;
    const same = {
      session_id,
      offer_id,
      campaign_id,
      publisher_id: first.publisher.id,
      position: 1,
      suspicious: null,
      of_session: true,
      at: nowMs,
    };
    expect(rows).toEqual(['close', 'impression', 'no_thanks'].map((kind) => ({ kind, ...same })));
  });

  test('repeated 64 times concurrently in each of two processes gets 200 and counts once', async () => {
    const { offers } = await fetchOffers(first);
    const urls = offers.flatMap((offer) => beaconUrls(offer).map(([, url]) => url));
    for (const url of urls) {
      const calls = Array.from({ length: 128 }, (_, index) =>
        call(index % 2 === 0 ? first : second, `${url}&n=${index}`),
      );
      const statuses = new Set((await Promise.all(calls)).map((response) => response.statusCode));
      expect([...statuses]).toEqual([200]);
    }
    const stored = (await storedEvents(first)).map((event) => `${event.kind} ${event.offer_id}`).sort();
    expect(stored).toEqual(offers.flatMap((offer) => beaconUrls(offer).map(([kind]) => `${kind} ${offer.id}`)).sort());
  });

  test('among 3,000 in opposite order in two processes counts once without a deadlock', async () => {
    const offer = await showOffer(first, { pub_user_id: 'crowd' });
    const tokens = Array.from({ length: 500 }, () => mintLike(first, offer, { sessionId: newUuid7(nowMs) }));
    const urls = tokens.flatMap((token) =>
      ['/sdk/v2/impression/p.png', '/event/record/close', '/event/record/no_thanks_click'].map(
        (path) => `${path}?t=${token}`,
      ),
    );
    await Promise.all([sendAll(first, urls), sendAll(second, urls.toReversed())]);
    expect(new Set((await storedEvents(first)).map(({ kind, session_id }) => `${kind} ${session_id}`)).size).toBe(1500);
    const { rows } = await first.pool.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    expect(rows[0]?.deadlocks).toBe('0');
  });

  test('gets a response only after its event is committed', async () => {
    const offer = await showOffer(first);
    for (const [kind, url] of beaconUrls(offer)) {
      const lock = await holdTable(first.pool, 'events');
      let answered = false;
      const answer = call(second, url).finally(() => {
        answered = true;
      });
      await lock.untilWaitedFor();
      expect(answered).toBe(false);
      await lock.release();
      expect((await answer).statusCode).toBe(200);
      expect((await storedEvents(first)).map((event) => event.kind)).toContain(kind);
    }
  });

  test('is stored as suspicious if it comes from a bot, but not if it has no user agent', async () => {
    const { offers } = await fetchOffers(first);
    for (const [, url] of beaconUrls(offers[0] as ShownOffer)) await call(first, url, { 'user-agent': googlebot });
    await call(first, (offers[1] as ShownOffer).pixel, { 'user-agent': '' });
    expect((await storedEvents(first)).map((event) => [event.offer_id, event.kind, event.suspicious])).toEqual([
      [offers[0]?.id, 'close', 'bot'],
      [offers[0]?.id, 'impression', 'bot'],
      [offers[1]?.id, 'impression', null],
      [offers[0]?.id, 'no_thanks', 'bot'],
    ]);
  });

  test.each([
    ['Sec-Purpose: prefetch', { 'sec-purpose': 'prefetch;prerender' }],
    ['Purpose: prefetch', { purpose: 'prefetch' }],
    ['X-Moz: prefetch', { 'x-moz': 'prefetch' }],
  ])('gets a response and is not counted if it is sent with %s', async (_, headers) => {
    const offer = await showOffer(first);
    for (const [, url] of beaconUrls(offer)) expect((await call(first, url, headers)).statusCode).toBe(200);
    expect(await storedEvents(first)).toEqual([]);
  });

  test('requested by HEAD gets a response without a body and is not counted', async () => {
    const offer = await showOffer(first);
    for (const [, url] of beaconUrls(offer)) {
      const response = await call(first, url, {}, 'HEAD');
      expect([response.statusCode, response.headers['content-type'], response.body]).toEqual([200, 'image/png', '']);
    }
    expect(await storedEvents(first)).toEqual([]);
  });

  test('is recorded with extra parameters, in any order, and with a body', async () => {
    const offer = await showOffer(first);
    const token = tokenOf(offer.pixel);
    const path = '/sdk/v2/impression/p.png';
    for (const query of [`cbuster=1&t=${token}`, `t=${token}&cbuster=1&x=2`])
      expect((await call(first, `${path}?${query}`)).statusCode).toBe(200);
    const withBody = await requestOver(first.app, { url: `${path}?t=${token}`, payload: 'body' });
    expect(withBody.statusCode).toBe(200);
    expect((await storedEvents(first)).map(({ kind }) => kind)).toEqual(['impression']);
  });

  test('requested by POST gets 405 and is not counted', async () => {
    const offer = await showOffer(first);
    for (const [, url] of beaconUrls(offer)) {
      const response = await requestOver(first.app, { method: 'POST', url });
      expect([response.statusCode, response.headers.allow]).toEqual([405, 'GET, HEAD']);
    }
    expect(await storedEvents(first)).toEqual([]);
  });

  test('gets a response and is not stored in a dev session', async () => {
    const offer = await showOffer(first, { dev: 1, pub_user_id: 'developer' });
    for (const [, url] of beaconUrls(offer)) expect((await call(first, url)).statusCode).toBe(200);
    expect(await storedEvents(first)).toEqual([]);
    expect((await first.pool.query('select * from user_history')).rows).toEqual([]);
  });
});

describe('an invalid token', () => {
  /** Each entry has a description of the problem and the query of the request. */
  const bad: [string, (offer: ShownOffer) => string][] = [
    ['missing', () => ''],
    ['empty', () => 't='],
    ['repeated', ({ pixel }) => `t=${tokenOf(pixel)}&t=${tokenOf(pixel)}`],
    ['an array', ({ pixel }) => `t[]=${tokenOf(pixel)}`],
    ['truncated', ({ pixel }) => `t=${tokenOf(pixel).slice(0, -1)}`],
    ['lengthened', ({ pixel }) => `t=${tokenOf(pixel)}A`],
    [
      'tampered with',
      ({ pixel }) =>
        `t=${tokenOf(pixel).slice(0, 30)}${tokenOf(pixel)[30] === 'A' ? 'B' : 'A'}${tokenOf(pixel).slice(31)}`,
    ],
    ['of another publisher', (offer) => `t=${mintLike(first, offer, { publisherId: first.publisher.id + 1 })}`],
    ['of a removed offer', (offer) => `t=${mintLike(first, offer, { offerId: 2_000_000_000 })}`],
    [
      'older than 24 hours',
      (offer) => `t=${mintLike(first, offer, { sessionId: newUuid7(nowMs - 24 * 3_600_000 - 1) })}`,
    ],
    [
      'more than 5 minutes in the future',
      (offer) => `t=${mintLike(first, offer, { sessionId: newUuid7(nowMs + 301_000) })}`,
    ],
    ['of a QR code, which has no session', (offer) => `t=${mintLike(first, offer, { sessionId: null })}`],
  ];

  test.each(bad)('gets 400 with the same image and headers, and records nothing: %s', async (_, queryOf) => {
    const offer = await showOffer(first, { pub_user_id: 'somebody' });
    for (const [kind, url] of beaconUrls(offer)) {
      const good = await call(first, url);
      await first.pool.query('truncate events, user_history');
      const response = await call(first, `${new URL(url).pathname}?${queryOf(offer)}`);
      expect([kind, response.statusCode]).toEqual([kind, 400]);
      expect(response.rawPayload.equals(good.rawPayload)).toBe(true);
      const { date: _date, ...headers } = response.headers;
      const { date: _other, ...goodHeaders } = good.headers;
      expect(headers).toEqual(goodHeaders);
      expect(await storedEvents(first)).toEqual([]);
      expect((await first.pool.query('select 1 from user_history')).rows).toEqual([]);
    }
  });

  test('gets 429 with retry-after after 100 from one address, while valid beacons still get 200', async () => {
    const offer = await showOffer(first);
    const from = (url: string) => requestOver(first.app, { url, remoteAddress: '127.0.0.9' });
    const statuses: number[] = [];
    for (let index = 0; index < 101; index++)
      statuses.push((await from('/sdk/v2/impression/p.png?t=nonsense')).statusCode);
    expect(statuses).toEqual([...Array<number>(100).fill(400), 429]);
    const limited = await from('/sdk/offer-click?t=nonsense');
    expect(limited.json().error.code).toBe('too_many_requests');
    expect(limited.headers['retry-after']).toBe('1');
    expect((await from(offer.pixel)).statusCode).toBe(200);
    expect((await call(first, '/sdk/v2/impression/p.png?t=nonsense')).statusCode).toBe(400);
  });
});
