import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

type ShownOffer = { id: number; campaign_id: number; pixel: string; events?: Record<string, string> };

const manage = (path: string, payload: object) =>
  t.app.inject({ method: 'PATCH', url: `/manage/v1/${path}?api_key=demo-key`, payload });

async function fetchOffers(body: object = {}): Promise<ShownOffer[]> {
  const url = '/native/v4/offers.json?api_key=demo-key';
  const answer = await t.app.inject({ method: 'POST', url, payload: { placement: 'checkout', ...body } });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().data.offers;
}

async function fetchOffer(body: object = {}): Promise<ShownOffer & { events: Record<string, string> }> {
  const [offer] = await fetchOffers(body);
  return offer as ShownOffer & { events: Record<string, string> };
}

function beacon(url: string, headers: Record<string, string> = {}) {
  const { pathname, search } = new URL(url);
  return t.app.inject({ url: pathname + search, headers: { 'user-agent': 'Mozilla/5.0 Chrome/130', ...headers } });
}

const stored = async (offerId: number): Promise<string[]> => {
  const { rows } = await t.pool.query<{ kind: string }>(
    "select kind from events where offer_id = $1 and kind like 'own:%' order by kind",
    [offerId],
  );
  return rows.map(({ kind }) => kind);
};

test('offers have no field for own events if none are defined', async () => {
  await manage(`publishers/${t.publisher.id}`, { own_events: [] });
  for (const offer of await fetchOffers()) expect(offer).not.toHaveProperty('events');
});

describe('own events', () => {
  beforeAll(async () => {
    const response = await manage(`publishers/${t.publisher.id}`, { own_events: ['video_started', 'quiz-done'] });
    expect(response.statusCode, response.body).toBe(200);
  });

  test('each have a URL that returns the beacon image and counts once per session', async () => {
    const { id, events, pixel } = await fetchOffer();
    expect(Object.keys(events)).toEqual(['video_started', 'quiz-done']);
    const image = (await beacon(pixel)).rawPayload;
    const answers = await Promise.all(
      Object.values(events).flatMap((url) => Array.from({ length: 16 }, () => beacon(url))),
    );
    for (const answer of answers) {
      expect(answer.statusCode).toBe(200);
      expect(answer.headers).toMatchObject({ 'content-type': 'image/png', 'cache-control': 'no-store' });
      expect(answer.rawPayload).toEqual(image);
    }
    expect(await stored(id)).toEqual(['own:quiz-done', 'own:video_started']);
  });

  test('appear only in the offers of the advertiser that defines them', async () => {
    const { campaign_id } = await fetchOffer();
    const { rows } = await t.pool.query<{ advertiser_id: number }>(
      'select advertiser_id from campaigns where id = $1',
      [campaign_id],
    );
    const path = `advertisers/${rows[0]?.advertiser_id}`;
    expect((await manage(path, { own_events: ['map_opened'] })).statusCode).toBe(200);
    const [first, other] = (await fetchOffers()) as [ShownOffer, ShownOffer];
    expect(Object.keys(first.events ?? {})).toEqual(['video_started', 'quiz-done', 'map_opened']);
    expect(Object.keys(other.events ?? {})).toEqual(['video_started', 'quiz-done']);
    const foreign = other.events?.video_started?.replace('video_started', 'map_opened') as string;
    expect((await beacon(foreign)).statusCode).toBe(400);
    await manage(path, { own_events: [] });
  });

  test('get the image with 400 and store nothing if they are undefined or belong to another token', async () => {
    const { id, events } = await fetchOffer({ pub_user_id: 'another' });
    const url = events.video_started as string;
    const before = await stored(id);
    const bad = [
      url.replace('name=video_started', 'name=unknown'),
      url.replace('name=video_started', 'name='),
      url.replace('&name=video_started', ''),
      url.replace('name=video_started', 'name=video_started&name=quiz-done'),
      url.replace('name=video_started', 'name=__proto__'),
      url.replace(/t=./, 't=_'),
    ];
    for (const path of bad) {
      const answer = await beacon(path);
      expect(answer.statusCode).toBe(400);
      expect(answer.headers['content-type']).toBe('image/png');
    }
    expect(await stored(id)).toEqual(before);
  });

  test('store nothing for a dev fetch, a prefetch or a HEAD request', async () => {
    const { id, events } = await fetchOffer({ dev: 1, pub_user_id: 'dev' });
    const before = await stored(id);
    expect((await beacon(events['quiz-done'] as string)).statusCode).toBe(200);
    const own = (await fetchOffer({ pub_user_id: 'dev' })).events['quiz-done'] as string;
    expect((await beacon(own, { 'sec-purpose': 'prefetch' })).statusCode).toBe(200);
    expect(await stored(id)).toEqual(before);
  });

  test.each([
    [['a'.repeat(41)], '/own_events/0'],
    [['Upper'], '/own_events/0'],
    [['a b'], '/own_events/0'],
    [['a', 'a'], '/own_events'],
    [Array.from({ length: 21 }, (_, index) => `e${index}`), '/own_events'],
  ])('with the names %j are rejected with the path of the field', async (own_events, path) => {
    const answer = await manage(`publishers/${t.publisher.id}`, { own_events });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.details[0].path).toBe(path);
  });
});
