import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Offer } from '../../src/catalog/types.ts';
import { writeHistory } from '../../src/demo/write-history.ts';
import { allFeature } from '../../src/learning/model/logistic-features.ts';
import { findSlot } from '../../src/learning/model/table.ts';
import type { Model } from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { createLearner } from '../../src/learning/reading/learner.ts';
import { scopedRateOf, scopeOf } from '../../src/learning/score.ts';
import { createModelSource } from '../../src/learning/source.ts';
import { insertVersion, loadVersion, newestVersion } from '../../src/learning/versions.ts';
import { contextOf } from '../decision/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { untilTransactionsEnd } from '../support/transactions.ts';

let t: TestApp;
const clock = { ms: Date.now() };
beforeAll(async () => {
  t = await createTestApp();
  await writeHistory(t.deps);
});
afterAll(() => t.close());

/** Learns from all stored rows. */
async function learnAll(): Promise<Model> {
  const learner = createLearner({ ...t.deps, now: () => clock.ms });
  await untilTransactionsEnd(t.pool);
  await expect.poll(async () => (await learner.learn())?.complete).toBe(true);
  await learner.stop();
  return (await loadVersion(t.pool, await newestVersion(t.pool))) as Model;
}

/** Returns the clicks of each offer, its observed click rate and its learned rate. */
async function rates(model: Model): Promise<{ clicks: number; raw: number; learned: number }[]> {
  const { rows } = await t.pool.query<{ offer_id: number; clicks: number; raw: number }>(
    `select offer_id, clicks, clicks::float8 / seen as raw from (
      select offer_id, count(*) filter (where kind = 'click')::int as clicks,
        count(*) filter (where kind = 'impression')::int as seen
      from events where suspicious is null group by 1
    ) as counts`,
  );
  const { offers, publishers } = t.deps.catalog.current();
  const publisher = publishers.get(t.publisher.id);
  if (publisher === undefined) throw new Error('no publisher');
  const { click } = scopeOf(model, publisher.id, 'checkout', propertiesOf(contextOf(), publisher));
  return rows.map(({ offer_id: id, ...row }) => ({
    ...row,
    learned: scopedRateOf(click, offers.get(id) as Offer).mean,
  }));
}

const expectGoodRates = async (model: Model): Promise<void> => {
  const frequentOffers = (await rates(model)).filter(({ clicks }) => clicks >= 10);
  expect(frequentOffers.length).toBeGreaterThan(10);
  for (const { raw, learned } of frequentOffers) {
    expect(learned).toBeGreaterThan(raw / 3);
    expect(learned).toBeLessThan(raw * 3);
  }
};

/** Checks that the learned conversion rate of all offers is close to the observed rate. */
async function expectGoodConversions({ conversion: { rates } }: Model): Promise<void> {
  const { rows } = await t.pool.query<{ rate: number }>(
    `select (select sum(conversions) from bookings)::float8 / count(*) as rate
    from events where kind = 'click' and suspicious is null`,
  );
  const logit = rates.first[findSlot(rates, rates.indexOf.get(allFeature) ?? -1, 0)] as number;
  const learned = 1 / (1 + Math.exp(-logit));
  expect(learned).toBeGreaterThan((rows[0]?.rate as number) / 2);
  expect(learned).toBeLessThan((rows[0]?.rate as number) * 2);
}

test('learns two weeks of backfilled events in their original order without waiting', async () => {
  const model = await learnAll();
  await expectGoodRates(model);
  await expectGoodConversions(model);
  await t.deps.model.refresh();
  const answer = await t.app.inject({
    method: 'POST',
    url: `/manage/v1/explain?api_key=${t.publisher.key}`,
    payload: { placement: 'checkout' },
  });
  expect(answer.statusCode, answer.body).toBe(200);
});

test('replaces a broken model version with a relearned one, even in processes that are serving', async () => {
  const newest = await newestVersion(t.pool);
  const source = createModelSource(t.deps);
  await source.refresh();
  expect(source.current().version).toBe(newest);
  const body = Buffer.from('broken');
  await insertVersion(t.pool, { version: newest + 1, isFull: false, body, nowMs: clock.ms });
  await source.refresh();
  expect([source.current().version, source.isBroken()]).toEqual([newest, true]);

  await expectGoodRates(await learnAll());
  await source.refresh();
  expect(source.isBroken()).toBe(false);
  await expectGoodRates(source.current());
});
