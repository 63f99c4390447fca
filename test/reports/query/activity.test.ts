import { afterEach, beforeEach, expect, test } from 'vitest';
import { queryLiveMinutes } from '../../../src/reports/activity.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers, googlebot, type ShownOffer } from '../../tracking/journey.ts';
import { activity, byGroup, nonZero, rollUpAll } from '../support.ts';

let testApp: TestApp;
beforeEach(async () => {
  testApp = await createTestApp();
});
afterEach(() => testApp.close());

/** Shows the offers, dismisses the first one and closes the second one. */
async function showAndDismiss(body: Record<string, unknown>): Promise<ShownOffer[]> {
  const { offers } = await fetchOffers(testApp, body);
  for (const offer of offers) await call(testApp, offer.pixel);
  if (offers[0] !== undefined) await call(testApp, offers[0].beacons.no_thanks_click);
  if (offers[1] !== undefined) await call(testApp, offers[1].beacons.close);
  return offers;
}

test('sessions, impressions, refusals and closes are counted by each dimension', async () => {
  const offers = await showAndDismiss({ placement: 'Checkout', country: 'de' });
  await showAndDismiss({ placement: 'cart', country: 'us' });
  await rollUpAll(testApp);

  const impressions = offers.length;
  expect(impressions).toBeGreaterThan(1);
  const sessionMetrics = { sessions: 1, filled_sessions: 1, impressions, no_thanks: 1, closes: 1 };
  expect(byGroup(await activity(testApp, { groupBy: ['placement'] }))).toEqual({
    checkout: sessionMetrics,
    cart: sessionMetrics,
  });
  expect(byGroup(await activity(testApp, { groupBy: ['country'] }))).toEqual({
    DE: sessionMetrics,
    US: sessionMetrics,
  });
  expect(byGroup(await activity(testApp, { groupBy: ['country', 'placement'] }))).toEqual({
    'DE checkout': sessionMetrics,
    'US cart': sessionMetrics,
  });
  const [total] = await activity(testApp);
  expect(nonZero(total?.metrics)).toEqual({
    sessions: 2,
    filled_sessions: 2,
    impressions: 2 * impressions,
    no_thanks: 2,
    closes: 2,
  });
});

test('a session counts once whatever its number of offers, and once per offer in reports by offer', async () => {
  const offers = await showAndDismiss({});
  await rollUpAll(testApp);
  expect((await activity(testApp))[0]?.metrics.sessions).toBe(1);
  const rows = await activity(testApp, { groupBy: ['offer'] });
  expect(rows.map(({ group, metrics }) => [group[0], metrics.sessions, metrics.impressions])).toEqual(
    offers.map((offer) => [offer.id, 1, 1]).sort(([a = 0], [b = 0]) => a - b),
  );
  const campaigns = await activity(testApp, { groupBy: ['campaign'] });
  expect(campaigns.map(({ group }) => group[0])).toEqual(
    offers.map((offer) => offer.campaign_id).sort((a, b) => a - b),
  );
});

test('a response without offers is an unfilled session', async () => {
  await testApp.pool.query('update publishers set unit_enabled = false');
  await expect.poll(() => [...testApp.deps.catalog.current().publishers.values()][0]?.unitEnabled).toBe(false);
  await fetchOffers(testApp);
  await rollUpAll(testApp);
  expect(nonZero((await activity(testApp))[0]?.metrics)).toEqual({ sessions: 1 });
});

test('filters by one or many dimensions leave out everything else', async () => {
  const offers = await showAndDismiss({ placement: 'checkout', country: 'DE' });
  await showAndDismiss({ placement: 'cart', country: 'DE' });
  await showAndDismiss({ placement: 'cart', country: 'US' });
  await rollUpAll(testApp);
  const sessions = async (query: Parameters<typeof activity>[1]) =>
    (await activity(testApp, query))[0]?.metrics.sessions ?? 0;
  expect(await sessions({ filters: { placement: ['cart'] } })).toBe(2);
  expect(await sessions({ filters: { placement: ['cart', 'checkout'], country: ['US'] } })).toBe(1);
  expect(await sessions({ filters: { placement: ['nowhere'] } })).toBe(0);
  const offer = offers[0] as ShownOffer;
  const [device] = (await activity(testApp, { groupBy: ['device'] })).map(({ group }) => group[0] as string);

  for (const aggregatedBy of ['day', 'hour'] as const) {
    const filters = { placement: ['cart'], country: ['DE'], campaign: [offer.campaign_id], device: [device as string] };
    expect(nonZero((await activity(testApp, { aggregatedBy, filters, groupBy: ['offer'] }))[0]?.metrics)).toMatchObject(
      {
        sessions: 1,
        impressions: 1,
      },
    );
  }
});

test('repeats, bots and dev sessions are not counted', async () => {
  const { offers } = await fetchOffers(testApp);
  const { pixel, click_url } = offers[0] as ShownOffer;
  await Promise.all(Array.from({ length: 20 }, () => call(testApp, pixel)));
  await rollUpAll(testApp);
  await call(testApp, pixel);
  await call(testApp, click_url, { 'user-agent': googlebot });
  await fetchOffers(testApp, { dev: '1' }).then(({ offers: devOffers }) =>
    call(testApp, devOffers[0]?.pixel as string),
  );
  await rollUpAll(testApp);
  expect(nonZero((await activity(testApp))[0]?.metrics)).toEqual({ sessions: 1, filled_sessions: 1, impressions: 1 });
});

test('activity of another publisher appears in no report', async () => {
  await showAndDismiss({});
  await rollUpAll(testApp);
  expect(await activity(testApp, { publisherId: testApp.publisher.id + 1 })).toEqual([]);
});

test('the last minutes are counted individually', async () => {
  await showAndDismiss({});
  await rollUpAll(testApp);
  const minutes = await queryLiveMinutes(testApp.pool, {
    publisherId: testApp.publisher.id,
    minutes: 30,
    nowMs: testApp.deps.now(),
  });
  expect(minutes.reduce((sum, { metrics }) => sum + metrics.sessions, 0)).toBe(1);
  expect(minutes.at(-1)?.startMs).toBeGreaterThan(testApp.deps.now() - 180_000);
});
