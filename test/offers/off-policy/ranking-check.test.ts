import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLearner } from '../../../src/learning/reading/learner.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../../catalog/resources/support.ts';
import { signInAs } from '../../dashboard/support.ts';
import { browser, call, fetchOffers } from '../../tracking/journey.ts';

const sessions = 120;
let t: ManagementApp;
let me: Caller;
/** Campaigns that were shown. */
let shownCampaignIds: number[];
beforeAll(async () => {
  t = await createManagementApp();
  me = await t.caller(t.publisher.id);
  await t.pool.query("update campaigns set rules = '{}', payout_kind = 'cpm', payout_amount = 10, priority = 5");
  await t.pool.query('update publishers set offers_per_response = 1');
  await t.deps.catalog.refresh();
  shownCampaignIds = [];
  for (let at = 0; at < sessions; at++) {
    const { offers } = await fetchOffers(t, { pub_user_id: `user-${at}`, ua: browser });
    const [offer] = offers;
    if (offer === undefined) throw new Error('nothing is shown');
    shownCampaignIds.push(offer.campaign_id);
    await call(t, offer.pixel);
    if (at === sessions / 2) {
      const learner = createLearner(t.deps);
      await learner.learn();
      await learner.stop();
      await t.deps.model.refresh();
    }
  }
});
afterAll(() => t.close());

const check = async (query: string) => {
  const { status, body } = await me.call('GET', `/ranking-check?${query}`);
  return { status, data: body.data as unknown as Record<string, unknown> };
};

test('a ranking that shows the same earns the same; sessions keep their own models', async () => {
  const { status, data } = await check('ranking=no_context');
  expect(status).toBe(200);
  expect(data).toMatchObject({ ranking: 'no_context', campaign_id: null, actual: 10 });
  expect(data.coverage).toBeCloseTo(1, 1);
  expect(data.sessions).toBeGreaterThan(7);
  expect(data.effective_sessions).toBeGreaterThan(0.9 * Number(data.sessions));
  expect(data).toMatchObject({ is_enough: false, estimated: null, lift: null });
});

test('there is no claim without the campaign that is nearly always first, because few others were shown', async () => {
  const timesOf = (campaign: number) => shownCampaignIds.filter((id) => id === campaign).length;
  const campaign = shownCampaignIds.reduce((most, id) => (timesOf(id) > timesOf(most) ? id : most));
  expect(timesOf(campaign)).toBeGreaterThan(0.8 * sessions);
  const { data } = await check(`ranking=without_campaign&campaign_id=${campaign}`);
  expect(data).toMatchObject({ campaign_id: campaign, is_enough: false, lift: null });
  expect(data.effective_sessions).toBeLessThan(0.5 * Number(data.sessions));
});

test('a campaign is required for that ranking only', async () => {
  expect((await check('ranking=without_campaign')).status).toBe(400);
  expect((await check('ranking=weights&campaign_id=1')).status).toBe(400);
  expect((await check('ranking=best')).status).toBe(400);
});

test('the dashboard shows the same, and reports too little data', async () => {
  const analyst = await signInAs(t, 'analyst');
  const path = `/dashboard/p/${t.publisher.id}/ranking`;
  expect((await analyst.get(path)).body).toContain('What another ranking would have earned');
  expect((await analyst.get(`${path}?ranking=no_context`)).body).toContain('Too little data');
  const german = await analyst.get(`${path}?ranking=no_context`, { 'accept-language': 'de' });
  expect(german.body).toContain('Zu wenig Daten');
});
