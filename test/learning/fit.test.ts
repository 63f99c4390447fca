import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Offer } from '../../src/catalog/types.ts';
import { mix } from '../../src/decision/random.ts';
import { maxKeys, maxValues } from '../../src/learning/fit/rows.ts';
import { thinRows } from '../../src/learning/fit/thinning.ts';
import {
  modelOf,
  packChanges,
  packModel,
  prepare,
  trackChanges,
  unpackVersion,
} from '../../src/learning/model/codec.ts';
import { createModel } from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { highRatesOf, relevantProperties, scopedRateOf, scopeOf } from '../../src/learning/score.ts';
import { campaignOf, contextOf, offersOf } from '../decision/support.ts';
import { customProperties, learningPublisher, simulateLearner, startMs } from './support.ts';

const offers = offersOf(campaignOf(1), campaignOf(2), campaignOf(3));
const [first, second, third] = offers as [Offer, Offer, Offer];

/**
 * Shows offers in rotation, 100 per second, and learns every two seconds.
 * @returns the time of the last fit
 */
function run(
  learner: ReturnType<typeof simulateLearner>,
  from: number,
  count: number,
  showing: (at: number) => Omit<Parameters<typeof learner.show>[0], 'atMs'>,
): number {
  for (let at = from; at < from + count; at++) {
    learner.show({ ...showing(at), atMs: startMs + 10 * at });
    if (at % 200 === 199) learner.learn(startMs + 10 * (at + 1));
  }
  learner.learn(startMs + 10 * (from + count));
  return startMs + 10 * (from + count);
}

test('the rate of each kind of user is learned, and effects of irrelevant properties shrink to zero', () => {
  const learner = simulateLearner();
  run(learner, 0, 12_000, (at) => {
    const custom = { plan: ['gold', 'free'][at % 2] as string, noise: String(mix(at, 3) % 3) };
    return { offer: offers[at % 3] as Offer, custom, rate: custom.plan === 'gold' && at % 3 === 0 ? 0.12 : 0.03 };
  });
  const rate = (custom: Record<string, string>) => learner.rateOf(first, custom).mean;
  expect(rate({ plan: 'gold' })).toBeGreaterThan(2.5 * rate({ plan: 'free' }));
  const keys = relevantProperties(
    { ...learner.model },
    contextOf({ custom: new Map([['noise', '1']]) }),
    learningPublisher,
  );
  expect(keys.map(({ key }) => key).join()).not.toContain('noise');
});

test('clicks that take a minute do not lower the rate of an offer while they are pending', () => {
  const learner = simulateLearner();
  run(learner, 0, 20_000, (at) => ({
    offer: at < 17_000 ? first : second,
    rate: 0.1,
    delayMs: 60_000 * (0.2 + (mix(at, 9) % 100) / 100),
  }));
  expect(learner.rateOf(first).mean).toBeGreaterThan(0.085);
  expect(learner.rateOf(second).mean).toBeGreaterThan(0.05);
});

test('an impression with a late click counts as clicked once, from the time of the click', () => {
  const learner = simulateLearner();
  run(learner, 0, 4000, () => ({ offer: first, rate: 0.1, delayMs: 3000 }));
  const { rows } = learner.fits.click;
  expect(rows.size).toBe(4000);
  learner.learn(startMs + 60_000);
  const clicked = rows.delaysMs.slice(0, rows.size).filter((delay) => delay >= 0).length;
  expect(Math.abs(learner.rateOf(first).mean - clicked / 4000)).toBeLessThan(0.01);
});

test('ten seconds of lost or late clicks change no estimate by more than a quarter', () => {
  for (const knownAfterMs of [Number.POSITIVE_INFINITY, 10_000]) {
    const learner = simulateLearner();
    const showing = (at: number) => ({
      offer: offers[at % 3] as Offer,
      rate: [0.1, 0.06, 0.04][at % 3] as number,
      delayMs: 150,
    });
    run(learner, 0, 6000, showing);
    const before = learner.rateOf(first).mean;
    run(learner, 6000, 1000, (at) => ({ ...showing(at), knownAfterMs }));
    expect(learner.rateOf(first).mean / before).toBeGreaterThan(0.75);
    run(learner, 7000, 1000, showing);
    expect(learner.rateOf(first).mean / before).toBeGreaterThan(0.75);
    expect(learner.rateOf(first).mean / before).toBeLessThan(1.25);
  }
});

test('immediate clicks and clicks a second later do not bias rates', () => {
  for (const delayMs of [150, 1000]) {
    const learner = simulateLearner();
    for (let end = 1000; end <= 6000; end += 1000) {
      run(learner, end - 1000, 1000, () => ({ offer: first, rate: 0.1, delayMs }));
      expect(learner.rateOf(first).mean).toBeGreaterThan(0.075);
      expect(learner.rateOf(first).mean).toBeLessThan(0.135);
    }
  }
});

test('a clock that is set back by an hour does not change rates', () => {
  const learner = simulateLearner();
  const end = run(learner, 0, 6000, () => ({ offer: first, rate: 0.1 }));
  const before = learner.rateOf(first).mean;
  for (let at = 0; at < 5; at++) learner.learn(end - 3_600_000 + 2000 * at);
  expect(Math.abs(learner.rateOf(first).mean / before - 1)).toBeLessThan(0.1);
});

test('an offer that was not shown recently is less certain than one that was, if rates change', () => {
  const shapeWhenShownFrom = (start: number): number => {
    const learner = simulateLearner();
    const isSecond = (at: number): boolean => at % 2 === 1 && at >= start && at < start + 2000;
    run(learner, 0, 6000, (at) => ({ offer: isSecond(at) ? second : first, rate: 0.3 - 0.04 * Math.floor(at / 1000) }));
    return learner.rateOf(second).shape;
  };
  expect(shapeWhenShownFrom(2000)).toBeLessThan(0.9 * shapeWhenShownFrom(4000));
});

test('a drop in a rate is detected within twice the impressions that its clicks would need', () => {
  const learner = simulateLearner();
  run(learner, 0, 6000, (at) => ({ offer: offers[at % 3] as Offer, rate: 0.08 }));
  run(learner, 6000, 6000, (at) => ({ offer: offers[at % 3] as Offer, rate: at % 3 === 0 ? 0.02 : 0.08 }));
  expect(learner.rateOf(first).mean).toBeLessThan(0.045);
});

test('an offer at a later position is judged by its rate at the first position', () => {
  const learner = simulateLearner();
  run(learner, 0, 15_000, (at) => {
    // The second position is seen half as often, so the third offer's click rate would be 14% in the first position.
    if (at % 3 === 2) return { offer: third, position: 2, rate: 0.07 };
    const position = 1 + (mix(at, 1) % 2);
    return { offer: at % 3 === 0 ? first : second, position, rate: position === 1 ? 0.08 : 0.04 };
  });
  expect(learner.rateOf(third).mean).toBeGreaterThan(1.3 * learner.rateOf(first).mean);
});

test('budget is reserved at the rate of conclusive impressions, and more recent ones do not lower it', () => {
  const learner = simulateLearner();
  const high = () => highRatesOf({ ...learner.model }, first).click;
  const showAt = (count: number, atMs: number, rate: number): void => {
    for (let at = 0; at < count; at++) learner.show({ offer: first, atMs, rate });
  };
  showAt(40, startMs, 0.1);
  learner.learn(startMs + 2000);
  expect(high()).toBe(1);
  learner.learn(startMs + 61_000);
  const proven = high();
  expect(proven).toBeLessThan(0.6);
  showAt(1000, startMs + 61_000, 0);
  learner.learn(startMs + 62_000);
  expect(high()).toBeGreaterThan(proven / 2);
  learner.learn(startMs + 130_000);
  expect(high()).toBeLessThan(0.05);
});

test('attributes with too many values, and excess attributes, are ignored by learning', () => {
  const learner = simulateLearner();
  run(learner, 0, 400, (at) => ({ offer: first, rate: 0.5, custom: { visit: String(at), plan: String(at % 2) } }));
  const features = () => learner.model.click.effects.weights.features.join('\n');
  expect(learner.fits.click.rows.closedKeys).toEqual(new Set(['custom 1 visit']));
  const { columns } = learner.fits.click.rows;
  expect([...columns.keys()]).toContain('custom 1 plan');
  expect([...columns.values()].every(({ valueIds }) => valueIds.size <= maxValues)).toBe(true);
  run(learner, 400, 400, (at) => ({ offer: first, rate: 0.5, custom: { [`key ${at}`]: 'one' } }));
  expect([...columns.keys()].filter((key) => key.startsWith('custom 1 ')).length).toBeLessThanOrEqual(maxKeys);
  expect(features()).not.toContain('visit');
});

test('a full set of rows keeps all successes and a representative sample of the rest', () => {
  const learner = simulateLearner();
  run(learner, 0, 20_000, (at) => ({ offer: offers[at % 3] as Offer, rate: [0.1, 0.05, 0.02][at % 3] as number }));
  const before = offers.map((offer) => learner.rateOf(offer).mean);
  const { rows } = learner.fits.click;
  const successes = () => rows.delaysMs.slice(0, rows.size).filter((delay) => delay >= 0).length;
  const successesBefore = successes();
  rows.capacity = 10_000;
  thinRows(rows, startMs + 190_000);
  expect(rows.size).toBeLessThan(8000);
  expect(successes()).toBe(successesBefore);
  learner.learn(startMs + 200_000);
  for (const [at, offer] of offers.entries())
    expect(Math.abs(learner.rateOf(offer).mean / (before[at] as number) - 1)).toBeLessThan(0.15);
});

test('rates stay right however often rows are thinned, and no row gets a large weight', () => {
  const learner = simulateLearner();
  const { rows } = learner.fits.click;
  rows.capacity = 3000;
  const rates = [0.08, 0.04, 0.02];
  const impressions = 60_000;
  for (let at = 0; at < impressions; at++) {
    learner.show({ offer: offers[at % 3] as Offer, rate: rates[at % 3] as number, atMs: startMs + 1000 * at });
    if (at % 500 === 499) learner.learn(startMs + 1000 * (at + 1));
  }
  expect(Math.max(...rows.weights.slice(0, rows.size))).toBeLessThan((5 * impressions) / rows.size);
  for (const [at, offer] of offers.entries())
    expect(Math.abs(learner.rateOf(offer).mean / (rates[at] as number) - 1)).toBeLessThan(0.3);
});

test('a request has the same score, bit for bit, in any order of its attributes', () => {
  const names = ['plan', 'a', 'Z', 'age_group', 'é', 'b2', '10', '9'];
  const learner = simulateLearner();
  run(learner, 0, 3000, (at) => ({
    offer: first,
    rate: mix(0, at) % 3 === 0 ? 0.3 : 0.05,
    custom: Object.fromEntries(names.map((name, bit) => [name, String(mix(bit, at) % 3)])),
  }));
  const model = { ...learner.model };
  const scoreOf = (custom: ReadonlyMap<string, string>) => {
    const properties = propertiesOf(contextOf({ custom }), learningPublisher);
    return scopedRateOf(scopeOf(model, 1, 'checkout', properties).click, first);
  };
  const attributes = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.constantFrom('0', '1', '2')), {
    selector: ([name]) => name,
  });
  const orders = attributes.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  fc.assert(
    fc.property(orders, ([list, shuffled]) => {
      expect(scoreOf(new Map(shuffled))).toEqual(scoreOf(new Map(list)));
    }),
  );
});

test('excluded keys are not learned from, and publishers are separate', () => {
  const context = contextOf({
    custom: new Map([
      ['plan', 'gold'],
      ['email_hash', 'x'],
    ]),
  });
  const keysOf = (id: number): string[] =>
    propertiesOf(context, { ...learningPublisher, id, learningExcludedKeys: new Set(['email_hash']) }).map(
      ({ key }) => key,
    );
  expect(keysOf(1)).toContain('custom 1 plan');
  expect(keysOf(2)).toContain('custom 2 plan');
  expect(keysOf(1).join()).not.toContain('email_hash');
});

test('scores are the same, bit for bit, if versions are applied one by one or as a whole', async () => {
  const learner = simulateLearner();
  let copy = createModel();
  for (let version = 1; version <= 4; version++) {
    trackChanges(learner.model);
    run(learner, 2000 * (version - 1), 2000, (at) => ({
      offer: offers[at % 3] as Offer,
      position: 1 + (at % 2),
      custom: { plan: String(at % 3) },
      rate: at % 9 === 0 ? 0.4 : 0.05,
    }));
    copy = (await prepare(copy, version, await unpackVersion(await packChanges(learner.model))))();
    const whole = await modelOf(version, await unpackVersion(await packModel(learner.model)));
    for (const plan of ['0', '1', '2', '3']) {
      const rates = [learner.model, copy, whole].map(
        (model) => scopedRateOf(scopeOf({ ...model }, 1, 'checkout', customProperties({ plan })).click, second).mean,
      );
      expect(new Set(rates).size).toBe(1);
    }
  }
  await expect(packModel(learner.model).then((body) => unpackVersion(body.subarray(0, 20)))).rejects.toThrow();
});

test('a model from an earlier release scores as before, so that its decisions can be re-decided', async () => {
  const earlier = createModel();
  const table = { features: ['all', 'offer', 'offer at 1 checkout'], counts: [1, 1, 1] };
  const numbers = (...values: number[]): string => Buffer.from(new Float32Array(values).buffer).toString('base64');
  const ids = Buffer.from(new Int32Array([0, 1, 1]).buffer).toString('base64');
  const stored = await unpackVersion(await packModel(earlier));
  const { link: _, ...click } = stored.click;
  const rates = { ...table, entities: ids, first: numbers(40, 12, 10), second: numbers(1000, 200, 150) };
  const model = await modelOf(7, { ...stored, click: { ...click, rates } });
  expect(model.click.isLogistic).toBe(false);
  const { mean, shape } = scopedRateOf(scopeOf(model, 1, 'checkout', []).click, first);
  // Gamma distributions in which each level is the prior of the next: 40 of 1,000, then 2 of 50 elsewhere, then 10 of
  // 150.
  const all = (40 + 1) / (1000 + 50);
  const own = (2 + 2) / (50 + 2 / all);
  expect(mean).toBeCloseTo((10 + 4) / (150 + 4 / own), 9);
  expect(shape).toBeCloseTo(14, 9);
});
