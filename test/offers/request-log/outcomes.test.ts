import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DecisionInput } from '../../../src/decision/types.ts';
import { createOutcomeSampler, findOutcomes } from '../../../src/offers/request-log/outcomes.ts';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { signInAs } from '../../dashboard/support.ts';
import { campaignOf, inputOf, noonMs, offersOf, publisherWith } from '../../decision/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { fetchOffers } from '../../tracking/journey.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

const input = inputOf(
  publisherWith(
    offersOf(
      campaignOf(1, {}),
      campaignOf(2, { rules: { schedule: { end_at: new Date(noonMs - 1).toISOString() } } }),
      campaignOf(3, { active: false }),
    ),
  ),
);
const publisherId = input.publisher.id;

const outcomesOf = (campaignId: number) => findOutcomes(t.pool, { publisherId, campaignId, sinceMs: noonMs - dayMs });

test('a representative sample of decisions is explained within a limited share of the time', async () => {
  let readings = 0;
  // Each clock reading is one millisecond later than the previous one.
  const sampler = createOutcomeSampler({ now: () => noonMs, durationMs: () => ++readings });
  const explained = new Set<DecisionInput>();
  /** Returns a decision input that records when it is read for an explanation. */
  const inputNoted = (): DecisionInput => {
    const noted: DecisionInput = {
      ...input,
      get history() {
        explained.add(noted);
        return input.history;
      },
    };
    return noted;
  };
  const decide = async (times: number) => {
    for (let time = 0; time < times; time += 1) sampler.decided(inputNoted());
    await nextTurn();
  };
  await decide(1);
  await decide(100);
  expect(explained.size).toBe(1);
  await decide(500);
  expect(explained.size).toBe(2);
  await sampler.write(t.pool);
  const [outcome] = await outcomesOf(1);
  expect(outcome).toMatchObject({ outcome: 'shown' });
  expect(outcome?.decisions).toBeGreaterThan(400);
  expect(await outcomesOf(2)).toEqual([{ outcome: 'ended', decisions: outcome?.decisions }]);
  expect(await outcomesOf(3)).toEqual([{ outcome: 'campaign_paused', decisions: outcome?.decisions }]);
  await sampler.write(t.pool);
  expect(await outcomesOf(1)).toEqual([outcome]);
});

test('the campaign page shows the outcomes of its decisions in the last day and week', async () => {
  const { offers } = await fetchOffers(t, { pub_user_id: 'u-1' });
  const campaignId = offers[0]?.campaign_id;
  const analyst = await signInAs(t, 'manager');
  const page = async (id: number | undefined) => {
    await t.deps.outcomes.write(t.pool);
    return (await analyst.get(`/dashboard/p/${t.publisher.id}/campaigns/${id}`)).body;
  };
  await expect.poll(() => page(campaignId)).toMatch(/>Shown<\/span><\/td><td[^>]*>100%<\/td>/);
  const notShown = [...t.deps.catalog.current().offers.values()].find(
    ({ campaign }) => !offers.some(({ campaign_id }) => campaign_id === campaign.id),
  )?.campaign.id;
  expect(await page(notShown)).toMatch(/Better offers took all positions|Another campaign of this advertiser shown/);
});
