import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTwins, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers, googlebot, type ShownOffer, showOffer } from '../journey.ts';

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

const shownCampaigns = async (testApp: TestApp, user: Record<string, unknown>): Promise<number[]> =>
  (await fetchOffers(testApp, user)).offers.map((offer) => offer.campaign_id);

const optOuts = async (): Promise<Record<string, number | null>[]> =>
  (await first.pool.query<{ opt_outs: Record<string, number | null> }>('select opt_outs from user_history')).rows.map(
    (row) => row.opt_outs,
  );

async function setOptOutDays(campaignId: number, days: number | null): Promise<void> {
  await first.pool.query('update campaigns set opt_out_days = $2 where id = $1', [campaignId, days]);
  await first.deps.catalog.refresh();
}

test.each([{ pub_user_id: 'user-1' }, { ad_fp: 'device-1' }, { ad_fp: 'device-2', pub_user_id: 'user-2' }])(
  '"no thanks" hides the campaign only from the user %j, in every process, from the next fetch on',
  async (user) => {
    const offer = await showOffer(first, user);
    expect((await call(first, offer.beacons.no_thanks_click)).statusCode).toBe(200);
    expect(await shownCampaigns(first, user)).not.toContain(offer.campaign_id);
    expect(await shownCampaigns(second, user)).not.toContain(offer.campaign_id);
    expect(await shownCampaigns(first, { pub_user_id: 'somebody-else' })).toContain(offer.campaign_id);
    expect(await shownCampaigns(first, {})).toContain(offer.campaign_id);
    nowMs += 5 * dayMs;
    expect(await shownCampaigns(first, user)).not.toContain(offer.campaign_id);
  },
);

test('"no thanks" from a user with a device and an ID is stored for the device', async () => {
  const offer = await showOffer(first, { ad_fp: 'device-3', pub_user_id: 'user-3' });
  await call(first, offer.beacons.no_thanks_click);
  expect(await shownCampaigns(first, { ad_fp: 'device-3' })).not.toContain(offer.campaign_id);
  expect(await shownCampaigns(first, { pub_user_id: 'user-3' })).toContain(offer.campaign_id);
});

test('"no thanks" lasts as long as the campaign specifies', async () => {
  const user = { pub_user_id: 'patient' };
  const offer = await showOffer(first, user);
  await setOptOutDays(offer.campaign_id, 2);
  const saidMs = nowMs;
  await call(first, offer.beacons.no_thanks_click);
  await setOptOutDays(offer.campaign_id, null);
  expect(await optOuts()).toEqual([{ [offer.campaign_id]: Math.floor(saidMs / 1000) + 2 * 86_400 }]);
  nowMs = saidMs + 2 * dayMs - 1_000;
  expect(await shownCampaigns(first, user)).not.toContain(offer.campaign_id);
  nowMs = saidMs + 2 * dayMs + 1_000;
  expect(await shownCampaigns(first, user)).toContain(offer.campaign_id);
});

test('many concurrent "no thanks" events of one user in two processes all apply', async () => {
  const user = { pub_user_id: 'decided' };
  const { offers } = await fetchOffers(first, user);
  const again = await fetchOffers(second, user);
  expect(offers.length).toBeGreaterThan(1);
  const urls = [...offers, ...again.offers].map((offer) => offer.beacons.no_thanks_click);
  const calls = Array.from({ length: 8 }, () => urls.flatMap((url) => [call(first, url), call(second, url)])).flat();
  for (const response of await Promise.all(calls)) expect(response.statusCode).toBe(200);
  expect(await optOuts()).toEqual([Object.fromEntries(offers.map((offer) => [offer.campaign_id, null]))]);
});

test('concurrent "no thanks" events of many users opt each user out of the refused campaign only', async () => {
  const users = Array.from({ length: 40 }, (_, index) => ({ pub_user_id: `one-of-many-${index}` }));
  const refused = await Promise.all(
    users.map(async (user, index) => {
      const { offers } = await fetchOffers(first, user);
      return offers[index % offers.length] as ShownOffer;
    }),
  );
  await Promise.all(
    refused.flatMap((offer, index) => [call(index % 2 === 0 ? first : second, offer.beacons.no_thanks_click)]),
  );
  for (const [index, user] of users.entries()) {
    const campaignIds = await shownCampaigns(first, user);
    expect(campaignIds).not.toContain(refused[index]?.campaign_id);
    const others = new Set(
      refused.map((offer) => offer.campaign_id).filter((id) => id !== refused[index]?.campaign_id),
    );
    for (const id of others) expect(campaignIds).toContain(id);
  }
});

test('a later "no thanks" adds to the earlier opt-outs', async () => {
  const user = { pub_user_id: 'picky' };
  const firstOffer = await showOffer(first, user);
  await call(first, firstOffer.beacons.no_thanks_click);
  const two = await showOffer(first, user);
  await call(first, two.beacons.no_thanks_click);
  expect(two.campaign_id).not.toBe(firstOffer.campaign_id);
  expect(await optOuts()).toEqual([{ [firstOffer.campaign_id]: null, [two.campaign_id]: null }]);
});

test('"no thanks" from a bot, in a prefetch or HEAD request, or in a dev session has no effect', async () => {
  const user = { pub_user_id: 'innocent' };
  const offer = await showOffer(first, user);
  await call(first, offer.beacons.no_thanks_click, { purpose: 'prefetch' });
  await call(first, offer.beacons.no_thanks_click, {}, 'HEAD');
  await call(first, offer.beacons.no_thanks_click, { 'user-agent': googlebot });
  await call(first, (await showOffer(first, { ...user, dev: 1 })).beacons.no_thanks_click);
  expect(await optOuts()).toEqual([]);
  expect(await shownCampaigns(first, user)).toContain(offer.campaign_id);
});

test('"no thanks" without a user is stored and opts no one out', async () => {
  const offer = await showOffer(first);
  expect((await call(first, offer.beacons.no_thanks_click)).statusCode).toBe(200);
  expect((await first.pool.query('select 1 from events')).rows).toHaveLength(1);
  expect(await optOuts()).toEqual([]);
});

test('close does not opt the user out', async () => {
  const offer = await showOffer(first, { pub_user_id: 'closer' });
  await call(first, offer.beacons.close);
  expect(await optOuts()).toEqual([]);
});
