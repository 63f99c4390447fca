import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest';
import {
  countOffers,
  countPlacements,
  type FetchOffersResponse,
  type FetchPlacementsResponse,
  fetchOffers,
  fetchPlacements,
  fireBeacon,
  type Offer,
  type OfferSettings,
  type OfferStyles,
} from '../../packages/client/src/index.ts';
import type { FetchOffersAnswer, FetchPlacementsAnswer } from '../../src/offers/answer-schemas.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let baseUrl: string;
beforeAll(async () => {
  t = await createTestApp();
  baseUrl = await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => t.close());

/** Converts a service URL, which starts with the public origin, to the address that the service listens on in tests. */
const local = (url: string): string => url.replace('http://perks.test', baseUrl);

test('the service accepts a client with the SDK ID and records its beacons', async () => {
  const payload = {
    placement: 'checkout',
    pub_user_id: 'client-user-1',
    ua: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)',
  };
  const { data } = await fetchOffers({ baseUrl, sdkId: t.publisher.sdkId, payload, creative: '1', loyaltyboost: '1' });
  expect(data.count).toBe(data.offers.length);
  expect(data.count).toBeGreaterThan(0);
  expect(data.styles.settings).toEqual(data.settings);
  const [offer] = data.offers as [Offer];
  expect(offer.save_for_later_url).toMatch(/^http:\/\/perks\.test\/wallet\//);
  await fireBeacon(local(offer.pixel));
  await fireBeacon(local(offer.beacons.close));
  const { rows } = await t.pool.query('select kind from events where session_id = $1', [data.session_id]);
  expect(rows).toHaveLength(2);
});

test('offers of one campaign can be fetched, even in development mode', async () => {
  const options = { baseUrl, apiKey: t.publisher.key, payload: { placement: 'checkout' } };
  const [first] = (await fetchOffers(options)).data.offers as [Offer];
  const { data } = await fetchOffers({ ...options, campaignId: first.campaign_id, dev: true });
  expect(data.offers.map((offer) => offer.campaign_id)).toEqual([first.campaign_id]);
  const { rows } = await t.pool.query('select dev from sessions where id = $1', [data.session_id]);
  expect(rows).toEqual([{ dev: true }]);
});

test('offers for several placements are fetched in one call, without duplicates', async () => {
  const placements = [{ name: 'checkout', count: 2 }, { name: 'Account page' }];
  const { data } = await fetchPlacements({
    baseUrl,
    sdkId: t.publisher.sdkId,
    payload: { pub_user_id: 'u' },
    placements,
  });
  expect(data.placements.map(({ name, count }) => ({ name, count }))).toEqual([
    { name: 'checkout', count: 2 },
    { name: 'Account page', count: 3 },
  ]);
  expect(new Set(data.placements.flatMap(({ offers }) => offers.map((offer) => offer.campaign_id))).size).toBe(5);
  await expect(fetchPlacements({ baseUrl, sdkId: t.publisher.sdkId, placements: [] })).rejects.toMatchObject({
    statusCode: 400,
  });
});

test('offers are counted without a session', async () => {
  const options = { baseUrl, sdkId: t.publisher.sdkId, payload: { placement: 'checkout' } };
  expect(await countOffers(options)).toBe(3);
  const placements = [{ name: 'checkout' }, { name: 'account', count: 1 }];
  expect(await countPlacements({ ...options, payload: {}, placements })).toEqual([3, 1]);
});

test('a rejected request is a server error with an error code', async () => {
  const payload = { placement: 'checkout' };
  await expect(fetchOffers({ baseUrl, sdkId: 'feedfacefeedface', payload })).rejects.toMatchObject({
    statusCode: 401,
    code: 'unknown_key',
  });
  await expect(fetchOffers({ baseUrl, apiKey: t.publisher.key, payload: { placement: '' } })).rejects.toMatchObject({
    statusCode: 400,
    code: 'missing_placement',
  });
});

test('the types of the client match the schemas of the service', () => {
  type Data = FetchOffersResponse['data'];
  // This does not compile if the types differ.
  expectTypeOf<Offer>().toEqualTypeOf<FetchOffersAnswer['data']['offers'][number]>();
  expectTypeOf<keyof Data>().toEqualTypeOf<keyof FetchOffersAnswer['data']>();
  type Placed = FetchPlacementsResponse['data']['placements'][number];
  expectTypeOf<keyof Placed>().toEqualTypeOf<keyof FetchPlacementsAnswer['data']['placements'][number]>();
  expectTypeOf<Data['settings']>().toEqualTypeOf<OfferSettings>();
  expectTypeOf<Omit<Data['styles'], 'settings'>>().toEqualTypeOf<OfferStyles>();
});
