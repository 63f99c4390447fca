import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TrackedEvent } from '../../../src/catalog/types.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { createClickIdCodec } from '../../../src/tracking/clicks/click-id.ts';
import { createSessionAlias } from '../../../src/tracking/clicks/landing.ts';
import { insertEvents } from '../../../src/tracking/event-rows.ts';
import { holdTable, untilWaiting } from '../../support/locks.ts';
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
  trackedEvent,
} from '../journey.ts';

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
  await first.pool.query('truncate events, user_history');
});

async function setLanding(offer: ShownOffer, landingUrl: string, clickIdParam = 'click_id'): Promise<void> {
  await first.pool.query('update campaigns set landing_url = $2, click_id_param = $3 where id = $1', [
    offer.campaign_id,
    landingUrl,
    clickIdParam,
  ]);
  await first.deps.catalog.refresh();
}

const setWallet = async (publisher: boolean, offer: boolean): Promise<void> => {
  await first.pool.query('update publishers set wallet_enabled = $1', [publisher]);
  await first.pool.query('update offers set wallet_enabled = $1', [offer]);
  await first.deps.catalog.refresh();
};

const clicksStored = async () =>
  (await storedEvents(first)).filter((event) => event.kind === 'click').map((event) => event.suspicious);

/** Sends an impression of the offer, and a click shortly afterwards. */
async function seeAndClick(offer: ShownOffer, headers: Record<string, string> = {}) {
  await call(first, offer.pixel);
  nowMs += 1_000;
  return call(first, offer.click_url, headers);
}

describe('a click', () => {
  test('is redirected with 302 to the landing page with filled macros and a click ID', async () => {
    const offer = await showOffer(first, { pub_user_id: 'user', placement: 'checkout/1&x=y' });
    await setLanding(
      offer,
      'https://shop.example/{campaign_id}?c={click_id}&s={session_id}&p={placement}&u={pub_user_id}' +
        '&o={offer_id}&pub={publisher_id}&x={nonsense}',
    );
    const response = await seeAndClick(offer);
    expect(response.statusCode).toBe(302);
    expect(response.headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
    });
    expect(response.headers['set-cookie']).toBeUndefined();
    const url = new URL(response.headers.location as string);
    expect(url.origin + url.pathname).toBe(`https://shop.example/${offer.campaign_id}`);
    const { c, ...rest } = Object.fromEntries(url.searchParams);
    expect(rest).toEqual({
      s: createSessionAlias(first.deps.config.tokenKeys)(offer.sessionId, offer.campaign_id),
      p: 'checkout/1&x=y',
      u: '',
      o: String(offer.id),
      pub: String(first.publisher.id),
      x: '',
    });
    const clickIds = createClickIdCodec(first.deps.config.tokenKeys);
    expect(clickIds.read(c as string)).toEqual({ sessionId: offer.sessionId, offerId: offer.id });
    expect(await clicksStored()).toEqual([null]);
  });

  test("passes the click ID in the campaign's parameter", async () => {
    const offer = await showOffer(first);
    await setLanding(offer, 'https://shop.example/?a=b', 'aff_sub');
    const url = new URL((await seeAndClick(offer)).headers.location as string);
    expect([...url.searchParams.keys()]).toEqual(['a', 'aff_sub']);
  });

  test('repeated 64 times concurrently in each of two processes has the same target and counts once', async () => {
    const offer = await showOffer(first, { pub_user_id: 'fast' });
    await setLanding(offer, 'https://shop.example/?s={session_id}');
    await second.deps.catalog.refresh();
    await call(first, offer.pixel);
    nowMs += 1_000;
    const answers = await Promise.all(
      Array.from({ length: 128 }, (_, index) => call(index % 2 === 0 ? first : second, offer.click_url)),
    );
    expect([...new Set(answers.map((answer) => answer.statusCode))]).toEqual([302]);
    const locations = new Set(answers.map((answer) => answer.headers.location));
    expect([...locations]).toEqual([
      expect.stringMatching(/^https:\/\/shop\.example\/\?s=[\w-]{22}&click_id=[\w-]{51}$/),
    ]);
    expect(await clicksStored()).toEqual([null]);
  });

  test("is redirected with the user's own values, even with many concurrent users", async () => {
    const offers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => showOffer(first, { placement: `place-${index}` })),
    );
    await setLanding(offers[0] as ShownOffer, 'https://shop.example/?p={placement}&s={session_id}');
    const aliasOf = createSessionAlias(first.deps.config.tokenKeys);
    const answers = await Promise.all(offers.map((offer) => call(first, offer.click_url)));
    answers.forEach((answer, index) => {
      const url = new URL(answer.headers.location as string);
      const { sessionId, campaign_id } = offers[index] as (typeof offers)[number];
      expect([url.searchParams.get('p'), url.searchParams.get('s')]).toEqual([
        `place-${index}`,
        aliasOf(sessionId, campaign_id),
      ]);
    });
  });

  test('gets a response only after it is committed', async () => {
    const offer = await showOffer(first);
    const lock = await holdTable(first.pool, 'events');
    let answered = false;
    const answer = call(second, offer.click_url).finally(() => {
      answered = true;
    });
    await lock.untilWaitedFor();
    expect(answered).toBe(false);
    await lock.release();
    expect((await answer).statusCode).toBe(302);
    expect(await clicksStored()).toHaveLength(1);
  });

  test('waits for impressions that are still being written, and counts', async () => {
    const offer = await showOffer(first);
    const dev = await showOffer(first, { dev: 1 });
    await setLanding(dev, 'https://shop.example/?s={session_id}&p={placement}');
    const claims = first.deps.tokens.read(tokenOf(offer.pixel)) as TrackedEvent['claims'];
    const other = await second.pool.connect();
    await other.query('begin');
    await insertEvents(other, [{ ...trackedEvent(offer.sessionId), claims }]);
    const impression = call(first, offer.pixel);
    await untilWaiting(second.pool, 1);
    nowMs += 1_000;
    const clicked = call(first, offer.click_url);
    await call(first, dev.click_url); // is looked up after the click, unless that waits
    await other.query('rollback');
    other.release();
    expect([(await impression).statusCode, (await clicked).statusCode]).toEqual([200, 302]);
    expect(await clicksStored()).toEqual([null]);
  });

  test('is accepted 30 days after the session, and rejected later', async () => {
    const offer = await showOffer(first);
    nowMs += 30 * dayMs - 5_000;
    expect((await call(first, offer.click_url)).statusCode).toBe(302);
    await first.pool.query('truncate events');
    nowMs += 10_000;
    expect((await call(first, offer.click_url)).statusCode).toBe(400);
    expect(await storedEvents(first)).toEqual([]);
  });

  test('gets 204 without a destination and is not counted in a prefetch or HEAD request', async () => {
    const offer = await showOffer(first, { pub_user_id: 'ghost' });
    await setWallet(true, true);
    const answers = [
      await call(first, offer.click_url, { 'sec-purpose': 'prefetch' }),
      await call(first, offer.click_url, { purpose: 'prefetch', 'sec-fetch-mode': 'navigate', accept: 'text/html' }),
      await call(first, offer.click_url, { 'x-moz': 'prefetch' }),
      await call(first, offer.click_url, {}, 'HEAD'),
      await call(first, `${offer.click_url}&save_for_later=1`, {}, 'HEAD'),
    ];
    await setWallet(false, false);
    for (const { statusCode, headers, body } of answers) {
      expect([statusCode, headers.location, body]).toEqual([204, undefined, '']);
      expect(headers['cache-control']).toBe('no-store');
    }
    expect((await call(first, '/sdk/offer-click?t=nonsense', {}, 'HEAD')).statusCode).toBe(400);
    expect(await storedEvents(first)).toEqual([]);
  });

  test('is redirected but not counted in a dev session', async () => {
    const dev = await showOffer(first, { pub_user_id: 'developer', dev: 1, placement: 'dev-place' });
    await setLanding(dev, 'https://shop.example/?p={placement}');
    const { statusCode, headers } = await call(first, dev.click_url);
    expect([statusCode, new URL(headers.location as string).searchParams.get('p')]).toEqual([302, 'dev-place']);
    expect(await storedEvents(first)).toEqual([]);
  });

  test('gets 400 with an image for a malformed, foreign or expired token and is not recorded', async () => {
    const offer = await showOffer(first);
    const token = tokenOf(offer.click_url);
    const bad = [
      '',
      't=',
      `t=${token}&t=${token}`,
      `t=${token.slice(0, -4)}`,
      `t=${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      `t=${mintLike(first, offer, { publisherId: 999 })}`,
      `t=${mintLike(first, offer, { offerId: 2_000_000_000 })}`,
      `t=${mintLike(first, offer, { sessionId: newUuid7(nowMs - 30 * dayMs - 1) })}`,
    ];
    const { rawPayload } = await call(first, offer.pixel);
    await first.pool.query('truncate events');
    for (const query of bad) {
      const response = await call(first, `/sdk/offer-click?${query}`);
      expect([query, response.statusCode, response.headers['content-type']]).toEqual([query, 400, 'image/png']);
      expect(response.headers.location).toBeUndefined();
      expect(response.rawPayload.equals(rawPayload)).toBe(true);
    }
    expect(await storedEvents(first)).toEqual([]);
  });

  test('is accepted for an offer that was paused after it was shown', async () => {
    const offer = await showOffer(first);
    await first.pool.query('update campaigns set active = false where id = $1', [offer.campaign_id]);
    await first.deps.catalog.refresh();
    expect((await call(first, offer.click_url)).statusCode).toBe(302);
    await first.pool.query('update campaigns set active = true where id = $1', [offer.campaign_id]);
    await first.deps.catalog.refresh();
  });
});

describe('a suspicious click', () => {
  test('is stored with its reason if there was no impression, and redirected like any other click', async () => {
    const { offers } = await fetchOffers(first);
    await call(first, (offers[1] as ShownOffer).pixel);
    nowMs += 1_000;
    expect((await call(first, (offers[0] as ShownOffer).click_url)).statusCode).toBe(302);
    expect(await clicksStored()).toEqual(['no_impression']);
  });

  test('is stored as too fast less than 100 ms after the impression, but counts from 100 ms on', async () => {
    const { offers } = await fetchOffers(first);
    for (const offer of offers.slice(0, 2)) await call(first, offer.pixel);
    nowMs += 99;
    await call(first, (offers[0] as ShownOffer).click_url);
    nowMs += 1;
    await call(first, (offers[1] as ShownOffer).click_url);
    expect(await clicksStored()).toEqual(['too_fast', null]);
  });

  test('is stored with its reason if it comes from a bot', async () => {
    expect((await seeAndClick(await showOffer(first), { 'user-agent': googlebot })).statusCode).toBe(302);
    expect(await clicksStored()).toEqual(['bot']);
  });
});

describe('a scanned QR code', () => {
  test('is redirected even years later, and each scan is stored as a separate, uncounted event', async () => {
    const offer = await showOffer(first);
    await setLanding(offer, 'https://shop.example/?p={placement}&s={session_id}');
    const token = mintLike(first, offer, { sessionId: null, position: 0 });
    nowMs += 400 * dayMs;
    await first.pool.query('select create_day_partitions($1::date, $1::date)', [new Date(nowMs)]);
    const scans = [
      await call(first, `/sdk/offer-click?t=${token}`),
      await call(first, `/sdk/offer-click?t=${token}&save_for_later=1`),
    ];
    const urls = scans.map((scan) => new URL(scan.headers.location as string));
    for (const url of urls) {
      expect(url.origin).toBe('https://shop.example');
      expect([url.searchParams.get('p'), url.searchParams.get('s')]).toEqual(['', '']);
    }
    const clickIds = createClickIdCodec(first.deps.config.tokenKeys);
    const sessionIds = urls.map((url) => clickIds.read(url.searchParams.get('click_id') as string)?.sessionId).sort();
    const stored = await storedEvents(first);
    expect(stored.map((event) => event.session_id).sort()).toEqual(sessionIds);
    expect(new Set(sessionIds).size).toBe(2);
    expect(stored.map((event) => event.suspicious)).toEqual(['qr', 'qr']);
  });
});

describe('save for later', () => {
  test('redirects to the page that saves the offer and does not count as a click', async () => {
    await setWallet(true, true);
    const offer = await showOffer(first, { pub_user_id: 'keeper' });
    const response = await call(first, `${offer.click_url}&save_for_later=1`);
    expect([response.statusCode, response.headers.location]).toEqual([
      302,
      `http://perks.test/wallet/v1/save.json?t=${tokenOf(offer.click_url)}`,
    ]);
    expect(await storedEvents(first)).toEqual([]);
  });

  test.each([
    ['publisher', false, true],
    ['offer', true, false],
  ])('is a normal click if the wallet is off for the %s', async (_, publisher, walletOfOffer) => {
    await setWallet(publisher, walletOfOffer);
    const offer = await showOffer(first, { pub_user_id: 'keeper' });
    await setLanding(offer, 'https://shop.example/');
    const response = await call(first, `${offer.click_url}&save_for_later=1`);
    expect(response.headers.location).toMatch(/^https:\/\/shop\.example\//);
    expect(await clicksStored()).toEqual(['no_impression']);
  });
});
