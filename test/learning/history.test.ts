import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Offer } from '../../src/catalog/types.ts';
import { writeHistory } from '../../src/demo/write-history.ts';
import { packModel } from '../../src/learning/codec.ts';
import { createLearner } from '../../src/learning/learner.ts';
import type { Model } from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { scopedRateOf, scopeOf } from '../../src/learning/score.ts';
import { createModelSource } from '../../src/learning/source.ts';
import { findSlot } from '../../src/learning/table.ts';
import { insertVersion, loadVersion, newestVersion } from '../../src/learning/versions.ts';
import { minuteMs } from '../../src/platform/lib/time.ts';
import { contextOf } from '../decision/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
const clock = { ms: Date.now() };
beforeAll(async () => {
  t = await createTestApp();
  await writeHistory(t.deps);
});
afterAll(() => t.close());

/** Learns from all that is stored, as if minutes had gone by between two runs. */
async function learnAll(): Promise<Model> {
  const learn = createLearner({ ...t.deps, now: () => clock.ms });
  for (let run = 0; run < 4; run++) {
    await expect.poll(async () => (await learn())?.complete, { timeout: 60_000 }).toBe(true);
    clock.ms += minuteMs;
  }
  return (await loadVersion(t.pool, await newestVersion(t.pool))) as Model;
}

/** Clicks of an offer, its click rate, and what it is taken for. */
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
  const known = (await rates(model)).filter(({ clicks }) => clicks >= 10);
  expect(known.length).toBeGreaterThan(10);
  for (const { raw, learned } of known) {
    expect(learned).toBeGreaterThan(raw / 3);
    expect(learned).toBeLessThan(raw * 3);
  }
};

/** Conversions of clicks, of all offers. */
async function expectGoodConversions({ conversion: { rates } }: Model): Promise<void> {
  const { rows } = await t.pool.query<{ rate: number }>(
    `select (select sum(conversions) from bookings)::float8 / count(*) as rate
    from events where kind = 'click' and suspicious is null`,
  );
  const slot = findSlot(rates, rates.indexOf.get('all') ?? -1, 0);
  const learned = (rates.first[slot] as number) / (rates.second[slot] as number);
  expect(learned).toBeGreaterThan((rows[0]?.rate as number) / 1.5);
  expect(learned).toBeLessThan((rows[0]?.rate as number) * 1.5);
}

test('two weeks that come at once are learned from as they happened, and waited for no more', async () => {
  const learn = createLearner({ ...t.deps, now: () => clock.ms });
  await expect.poll(async () => (await learn())?.complete, { timeout: 60_000 }).toBe(true);
  const first = (await loadVersion(t.pool, await newestVersion(t.pool))) as Model;
  await expectGoodRates(first);
  await expectGoodConversions(first);
  await expectGoodRates(await learnAll());
  await t.deps.model.refresh();
  const answer = await t.app.inject({
    method: 'POST',
    url: `/manage/v1/explain?api_key=${t.publisher.key}`,
    payload: { placement: 'checkout' },
  });
  expect(answer.statusCode, answer.body).toBe(200);
});

test('a model that ran away is learned anew, and taken over by processes that had it', async () => {
  const newest = await newestVersion(t.pool);
  const ran = (await loadVersion(t.pool, newest)) as Model;
  ran.click.effects.priors.set('offer device', 2e5);
  ran.click.rates.second.fill(Number.NaN);
  await insertVersion(t.pool, { version: newest + 1, isFull: false, body: await packModel(ran), nowMs: clock.ms });
  const source = createModelSource(t.deps);
  await source.refresh();
  expect(source.current().version).toBe(newest + 1);

  await expectGoodRates(await learnAll());
  await source.refresh();
  await expectGoodRates(source.current());
});
