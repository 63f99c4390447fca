import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exposureEvent, exposureRecord, readRecords } from '../../src/budgets/history/records.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { call, fetchOffers, type ShownOffer } from '../tracking/journey.ts';

let t: TestApp;
let campaignId: number;
beforeAll(async () => {
  t = await createTestApp();
  const { rows } = await t.pool.query<{ id: number }>('select id from campaigns order by id limit 1');
  campaignId = rows[0]?.id as number;
  await manage('PATCH', `publishers/${t.publisher.id}`, { own_events: ['video', 'quiz'] });
});
afterAll(() => t.close());
beforeEach(async () => {
  await t.pool.query("update campaigns set rules = '{}', priority = case when id = $1 then 0 else 100 end", [
    campaignId,
  ]);
});

type OwnEventOffer = ShownOffer & { events: { video: string; quiz: string } };

const manage = (method: 'GET' | 'PATCH' | 'POST', path: string, payload?: object) =>
  t.app.inject({ method, url: `/manage/v1/${path}?api_key=demo-key`, ...(payload && { payload }) });

async function withRules(rules: object): Promise<void> {
  const answer = await manage('PATCH', `campaigns/${campaignId}`, { rules });
  expect(answer.statusCode, answer.body).toBe(200);
}

/** Returns the campaign's offer that a user is shown, or undefined if none exists. */
async function shownTo(pub_user_id: string): Promise<OwnEventOffer | undefined> {
  const { offers } = await fetchOffers(t, { pub_user_id });
  return offers.find((offer) => offer.campaign_id === campaignId) as OwnEventOffer | undefined;
}

test('an own event is capped per user by name, and the explanation states the cap', async () => {
  await withRules({ frequency_caps: [{ scope: 'campaign', event: 'own:video', limit: 2, window_minutes: 60 }] });
  for (let time = 0; time < 2; time += 1) {
    const offer = await shownTo('ada');
    await Promise.all([
      ...Array.from({ length: 16 }, () => call(t, offer?.events.video as string)),
      ...Array.from({ length: 2 }, () => call(t, offer?.events.quiz as string)),
      call(t, offer?.pixel as string),
    ]);
  }
  expect(await shownTo('ada')).toBeUndefined();
  expect(await shownTo('bob')).toBeDefined();
  const { data } = (await manage('POST', 'explain', { placement: 'checkout', pub_user_id: 'ada' })).json();
  expect(JSON.stringify(data)).toContain(
    'The user triggered the event video for the campaign 2 times within 1 hour; the frequency cap is 2.',
  );
});

test('an own event has a total cap, counts each event once, and the campaign shows the count', async () => {
  await withRules({ total_caps: [{ metric: 'own:video', per: 'lifetime', limit: 3 }] });
  const offers = await Promise.all(['u1', 'u2', 'u3'].map(shownTo));
  await Promise.all(
    offers.slice(0, 2).flatMap((offer) => Array.from({ length: 32 }, () => call(t, offer?.events.video as string))),
  );
  await Promise.all(offers.map((offer) => call(t, offer?.events.quiz as string)));
  const usage = async () => (await manage('GET', `campaigns/${campaignId}`)).json().data.usage;
  const standing = {
    publisher_id: null,
    metric: 'own:video',
    per: 'lifetime',
    limit: 3,
    reserved: 0,
    unbilled: 0,
    next_cost: 1,
    planned: null,
    projected: null,
    reached_at: null,
    period_ends_at: null,
  };
  expect(await usage()).toEqual([{ ...standing, spent: 2, remaining: 1, exhausted: false }]);
  expect(await shownTo('u4')).toBeDefined();
  await call(t, offers[2]?.events.video as string);
  expect(await usage()).toEqual([{ ...standing, spent: 3, remaining: 0, exhausted: true }]);
  await t.deps.catalog.refresh();
  await expect.poll(() => shownTo('u5')).toBeUndefined();
  const { data } = (await manage('POST', 'explain', { placement: 'checkout', pub_user_id: 'u5' })).json();
  expect(JSON.stringify(data)).toContain('Lifetime cap reached: 3 of 3 video events of the campaign.');
});

test('a cap accepts only valid names of own events', async () => {
  const refused = await manage('PATCH', `campaigns/${campaignId}`, {
    rules: {
      frequency_caps: [{ scope: 'campaign', event: 'own:Not this', limit: 2, window_minutes: 60 }],
      total_caps: [{ metric: 'own:video', per: 'day', limit: 1.5 }],
    },
  });
  expect(refused.json().error.details).toEqual([
    {
      path: '/rules/frequency_caps/0/event',
      message: expect.stringContaining('one of impression, click, no_thanks, conversion, or "own:" followed by'),
    },
    { path: '/rules/total_caps/0/limit', message: 'The value must be a whole number.' },
  ]);
});

test('histories distinguish own events by name, even after they are rewritten', () => {
  const of = (name: string) => ({
    event: exposureEvent(`own:${name}`),
    offerId: 1,
    campaignId: 2,
    advertiserId: 3,
    atMs: 4,
  });
  const exposures = [of('video'), of('quiz'), { ...of('video'), count: 7 }];
  const session = '0193a1b2-c3d4-7000-8000-123456789abc';
  const bytes = Buffer.concat(exposures.map((exposure) => exposureRecord(exposure, session)));
  expect(readRecords(bytes, 0)).toEqual({ exposures, reserved: [], stale: 0 });
  const again = readRecords(bytes, 0).exposures.map((exposure) => exposureRecord(exposure, null));
  expect(Buffer.concat(again)).toEqual(bytes);
  expect(exposures[0]?.event).not.toBe(exposures[1]?.event);
});
