import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Offer } from '../../src/catalog/types.ts';
import { mix, uniform } from '../../src/decision/random.ts';
import { modelOf, packChanges, packModel, prepare, trackChanges, unpackVersion } from '../../src/learning/codec.ts';
import { createDelays, noteDelay, sharesOf } from '../../src/learning/delays.ts';
import { keyValuesOf, maxKeys, maxValues } from '../../src/learning/keys.ts';
import {
  createModel,
  estimateAllPriors,
  forgetChangedRates,
  learn,
  type Model,
  type Shown,
} from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { countAged, examinationOf } from '../../src/learning/rates.ts';
import { highRatesOf, relevantProperties, scopedRateOf, scopeOf } from '../../src/learning/score.ts';
import { runAtOnce } from '../../src/platform/lib/slices.ts';
import { campaignOf, contextOf, offersOf } from '../decision/support.ts';

const offers = offersOf(campaignOf(1), campaignOf(2), campaignOf(3));
const [first, second, third] = offers as [Offer, Offer, Offer];
const publisher = { id: 1, timeZone: 'UTC', learningExcludedKeys: new Set<string>() };

const shownTo = (custom: Record<string, string>, over: Partial<Shown> = {}): Shown => ({
  offer: first,
  place: '1 checkout',
  position: 1,
  properties: propertiesOf(contextOf({ custom: new Map(Object.entries(custom)) }), publisher),
  ...over,
});

/** Shows an offer often, to users who click at a rate. */
function show(model: Model, times: number, rate: number, shown: (at: number) => Shown, salt = 5): void {
  for (let at = 0; at < times; at++) {
    learn(model, 'seen', shown(at));
    if (uniform(mix(7, at), salt) < rate) learn(model, 'clicked', shown(at));
  }
}

const rateFor = (model: Model, offer: Offer, custom: Record<string, string>): number => {
  const { click } = scopeOf(model, 1, 'checkout', shownTo(custom).properties);
  return scopedRateOf(click, offer).mean;
};

describe('the model', () => {
  test('knows the rate of each kind of user, and forgets no average with it', () => {
    const model = createModel();
    show(model, 4000, 0.12, () => shownTo({ plan: 'gold' }));
    show(model, 4000, 0.02, () => shownTo({ plan: 'free' }));
    runAtOnce(estimateAllPriors(model));
    show(model, 4000, 0.12, () => shownTo({ plan: 'gold' }));
    show(model, 4000, 0.02, () => shownTo({ plan: 'free' }));
    expect(rateFor(model, first, { plan: 'gold' })).toBeGreaterThan(2.5 * rateFor(model, first, { plan: 'free' }));
  });

  test('stays within bounds where many trials come before all of their successes', () => {
    const model = createModel();
    const custom = (at: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 8 }, (_, key) => [`key ${key}`, String(mix(at, key) % (key + 2))]));
    for (let round = 0; round < 4; round++) {
      const users = Array.from({ length: 3000 }, (_, at) =>
        shownTo(custom(3000 * round + at), { offer: offers[at % 3] as Offer }),
      );
      for (const user of users) learn(model, 'seen', user, 0.2);
      for (const user of users.filter((_, at) => at % 17 === 0)) learn(model, 'clicked', user);
      runAtOnce(estimateAllPriors(model));
    }
    for (const offer of offers)
      for (const user of [custom(1), custom(2), {}]) expect(rateFor(model, offer, user)).toBeLessThan(100);
  });

  test('shrinks properties that say nothing to nothing', () => {
    const model = createModel();
    for (let round = 0; round < 4; round++) {
      show(model, 2000, 0.08, (at) => shownTo({ noise: String(at % 3) }));
      runAtOnce(estimateAllPriors(model));
    }
    const rates = ['0', '1', '2'].map((noise) => rateFor(model, first, { noise }));
    for (const rate of rates) expect(rate).toBeGreaterThan(0.06);
    for (const rate of rates) expect(rate).toBeLessThan(0.1);
  });

  /** In runs of 100 impressions. @returns how many it takes until the rate is taken for so much or less */
  function showUntil(model: Model, rate: number, known: number): number {
    for (let run = 1; run <= 100; run++) {
      show(model, 100, rate, () => shownTo({}), run);
      runAtOnce(forgetChangedRates(model, (id) => offers.find((offer) => offer.id === id)));
      if (rateFor(model, first, {}) <= known) return 100 * run;
    }
    return Number.POSITIVE_INFINITY;
  }

  test('notices that a rate fell, and doubts what it knew of the offers beside it', () => {
    const model = createModel();
    show(model, 600, 0.02, () => shownTo({}, { offer: second }));
    show(model, 600, 0.02, () => shownTo({}, { offer: third, place: '1 home' }));
    expect(showUntil(model, 0.08, 0)).toBe(Number.POSITIVE_INFINITY);
    const shapes = (): number[] => {
      const { click } = scopeOf(model, 1, 'checkout', []);
      const { click: atHome } = scopeOf(model, 1, 'home', []);
      return [scopedRateOf(click, first).shape, scopedRateOf(click, second).shape, scopedRateOf(atHome, third).shape];
    };
    const before = shapes();
    expect(before[0]).toBeGreaterThan(300);
    // 300 successes at 8 % would hold 2 % up for 3,750 impressions.
    expect(showUntil(model, 0.02, 0.03)).toBeLessThanOrEqual(1500);
    const after = shapes();
    expect(after[0]).toBeLessThan(40);
    expect(after[1]).toBeLessThan((before[1] as number) / 2);
    expect(after[2]).toBeCloseTo(before[2] as number, 5);
  });

  test('notices that a rate rose', () => {
    const model = createModel();
    showUntil(model, 0.08, 0);
    show(model, 600, 0.24, () => shownTo({}));
    runAtOnce(forgetChangedRates(model, () => undefined));
    show(model, 200, 0.24, () => shownTo({}));
    expect(rateFor(model, first, {})).toBeGreaterThan(0.18);
  });

  /** A model of offers that are all clicked far more often from some time on, before it looks for changes. */
  function risen(all: readonly Offer[]): Model {
    const model = createModel();
    const offerOf = (id: number) => all.find((offer) => offer.id === id);
    for (const offer of all) show(model, 100, 0.1, () => shownTo({}, { offer }));
    runAtOnce(forgetChangedRates(model, offerOf));
    for (const offer of all) for (let at = 0; at < 15; at++) learn(model, 'clicked', shownTo({}, { offer }));
    return model;
  }

  test('looks for changes in turns, also where all offers of a placement change at once', () => {
    const many = Array.from({ length: 1000 }, (_, id): Offer => ({ ...first, id: id + 1 }));
    const model = risen(many);
    expect([...forgetChangedRates(model, (id) => many[id - 1])].length).toBeGreaterThanOrEqual(8);
    const { click } = scopeOf(model, 1, 'checkout', []);
    for (const offer of [many[0], many[999]]) expect(scopedRateOf(click, offer as Offer).shape).toBeLessThan(40);
  });

  test('forgets what it knew of an offer that was moved to a category of which nothing is known', async () => {
    const model = risen([first]);
    show(model, 500, 0.1, () => shownTo({}, { offer: second }));
    const moved = { ...second, campaign: { ...second.campaign, category: 'new' } };
    trackChanges(model);
    runAtOnce(forgetChangedRates(model, () => moved));
    const { features } = (await unpackVersion(await packChanges(model))).click.rates;
    expect(features).toContain('offer at 1 checkout');
    expect(features.filter((name) => typeof name !== 'string')).toEqual([]);
  });

  test('forgets nothing while rates stay, however large a run is', () => {
    const model = createModel();
    for (const times of [5000, 100, 5000, 20, 5000]) {
      show(model, times, 0.08, () => shownTo({}));
      runAtOnce(forgetChangedRates(model, () => undefined));
    }
    expect(scopedRateOf(scopeOf(model, 1, 'checkout', []).click, first).shape).toBeGreaterThan(300);
  });

  test('leaves out twenty properties of which none says anything, and keeps one of them that does', () => {
    const scored = (isTold: boolean): string[] => {
      const model = createModel();
      const custom = (at: number): Record<string, string> =>
        Object.fromEntries(Array.from({ length: 20 }, (_, key) => [`key ${key}`, String(mix(at, key) % 3)]));
      for (let round = 0; round < 8; round++) {
        for (let at = 1000 * round; at < 1000 * (round + 1); at++) {
          const shown = shownTo(custom(at), { offer: offers[at % 3] as Offer });
          learn(model, 'seen', shown);
          const rate = isTold && custom(at)['key 7'] === '1' ? 0.3 : 0.06;
          if (uniform(mix(3, at), 5) < rate) learn(model, 'clicked', shown);
        }
        runAtOnce(estimateAllPriors(model));
      }
      const context = contextOf({ custom: new Map(Object.entries(custom(1))) });
      return relevantProperties(model, context, publisher).map(({ key }) => key);
    };
    expect(scored(false)).toEqual([]);
    expect(scored(true).join()).toContain('key 7');
  });

  test('judges an offer at a later position by what it would do on the first', () => {
    const model = createModel();
    for (let round = 0; round < 5; round++) {
      for (const [position, rate] of [
        [1, 0.08],
        [2, 0.04],
      ] as const) {
        show(model, 1000, rate, () => shownTo({}, { offer: first, position }));
        show(model, 1000, rate, () => shownTo({}, { offer: second, position }));
      }
      show(model, 400, 0.05, () => shownTo({}, { offer: third, position: 2 }));
    }
    expect(examinationOf(model.click.rates, '1 checkout', 2)).toBeCloseTo(0.5, 1);
    expect(rateFor(model, third, {})).toBeGreaterThan(rateFor(model, first, {}));
  });

  test('reserves money by impressions that have shown their worth: younger ones make no rate low', () => {
    const model = createModel();
    const high = (): number => highRatesOf(model, first).click;
    const young = (times: number): void => show(model, times, 0, () => shownTo({}));
    young(40);
    expect(high()).toBe(1);
    countAged(model.click.rates, first, 4, 40);
    expect(high()).toBeCloseTo((5 + 3 * Math.sqrt(5)) / 40, 2);
    young(1000);
    expect(high()).toBeCloseTo((5 + 3 * Math.sqrt(5)) / 40, 2);
    countAged(model.click.rates, first, 0, 960);
    expect(high()).toBeLessThan(0.02);
  });

  test('reserves money for an offer whose rate changed by what is known of it since', () => {
    const model = createModel();
    const { rates } = model.click;
    showUntil(model, 0.08, 0);
    countAged(rates, first, 800, 10_000);
    expect(highRatesOf(model, first).click).toBeLessThan(0.12);
    const shape = (): number => scopedRateOf(scopeOf(model, 1, 'checkout', []).click, first).shape;
    for (let run = 1; shape() > 40; run++) {
      show(model, 100, 0.02, () => shownTo({}), run);
      countAged(rates, first, 2, 100);
      runAtOnce(forgetChangedRates(model, () => undefined));
    }
    expect(highRatesOf(model, first).click).toBeGreaterThan(0.08);
    expect(highRatesOf(model, first).click).toBeLessThan(0.4);
  });

  test('learns from no attribute with more values than a group has, nor from more keys than a publisher needs', () => {
    const model = createModel();
    show(model, maxValues + 1, 0.5, (at) => shownTo({ visit: String(at) }));
    const known = model.click.effects.weights.size;
    show(model, 3000, 0.5, (at) => shownTo({ visit: String(mix(1, at)) }));
    expect(model.click.effects.weights.size).toBe(known);
    show(model, 500, 0.5, (at) => shownTo({ [`key ${at}`]: 'one' }));
    const ofOther = shownTo({}, { properties: [{ key: 'custom 2 plan', value: 'gold' }] });
    learn(model, 'seen', ofOther);
    expect([...model.keyValues.values()].map(({ size }) => size)).toEqual([maxKeys, 1]);
    expect(keyValuesOf(model.click.effects)).toEqual(model.keyValues);
  });

  test('gives a request the same score bit for bit in whatever order its attributes come', () => {
    const names = ['plan', 'a', 'Z', 'age_group', 'é', 'b2', '10', '9'];
    const model = createModel();
    show(model, 3000, 0.1, (at) =>
      shownTo(Object.fromEntries(names.map((name, bit) => [name, String(mix(bit, at) % 3)]))),
    );
    const scoreOf = (custom: ReadonlyMap<string, string>) => {
      const properties = propertiesOf(contextOf({ custom }), publisher);
      return scopedRateOf(scopeOf(model, 1, 'checkout', properties).click, first);
    };
    const attributes = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.constantFrom('0', '1', '2')), {
      selector: ([name]) => name,
    });
    const orders = attributes.chain((given) =>
      fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length })),
    );
    fc.assert(
      fc.property(orders, ([given, shuffled]) => {
        expect(scoreOf(new Map(shuffled))).toEqual(scoreOf(new Map(given)));
      }),
    );
  });

  test('learns nothing from excluded keys, and tells publishers apart', () => {
    const context = contextOf({
      custom: new Map([
        ['plan', 'gold'],
        ['email_hash', 'x'],
      ]),
    });
    const of = (id: number): string[] =>
      propertiesOf(context, { ...publisher, id, learningExcludedKeys: new Set(['email_hash']) }).map(({ key }) => key);
    expect(of(1)).toContain('custom 1 plan');
    expect(of(2)).toContain('custom 2 plan');
    expect(of(1).join()).not.toContain('email_hash');
  });

  test('is the same bit for bit when its versions are taken over one after the other', async () => {
    const model = createModel();
    let copy = createModel();
    for (let version = 1; version <= 4; version++) {
      trackChanges(model);
      show(model, 50, 0.2, (at) =>
        shownTo({ plan: String(at % 3) }, { offer: offers[at % 3] as Offer, position: 1 + (at % 2) }),
      );
      if (version === 3) runAtOnce(estimateAllPriors(model));
      copy = (await prepare(copy, version, await unpackVersion(await packChanges(model))))();
      const whole = await modelOf(version, await unpackVersion(await packModel(model)));
      for (const plan of ['0', '1', '2', '3']) {
        const rates = [model, copy, whole].map((one) => rateFor(one, second, { plan }));
        expect(new Set(rates).size).toBe(1);
      }
    }
    await expect(packModel(model).then((body) => unpackVersion(body.subarray(0, 20)))).rejects.toThrow();
  });

  test('takes over a version with new priors in turns, of which decisions see nothing before the last', async () => {
    const model = createModel();
    const many = Array.from({ length: 5000 }, (_, id): Offer => ({ ...first, id: id + 1 }));
    for (const plan of ['gold', 'free']) for (const offer of many) learn(model, 'seen', shownTo({ plan }, { offer }));
    learn(model, 'clicked', shownTo({ plan: 'gold' }));
    const copy = await modelOf(1, await unpackVersion(await packModel(model)));
    trackChanges(model);
    expect([...estimateAllPriors(model)].length).toBeGreaterThan(10);
    const stored = await unpackVersion(await packChanges(model));
    const before = rateFor(copy, first, { plan: 'gold' });
    let take: (() => Model) | null = null;
    const prepared = prepare(copy, 2, stored).then((found) => {
      take = found;
    });
    let turns = 0;
    for (; take === null; turns++) {
      expect(rateFor(copy, first, { plan: 'gold' })).toBe(before);
      await nextTurn();
    }
    await prepared;
    expect(turns).toBeGreaterThan(10);
    const taken = (take as () => Model)();
    expect(taken.version).toBe(2);
    expect(rateFor(taken, first, { plan: 'gold' })).not.toBe(before);
    expect(rateFor(taken, first, { plan: 'gold' })).toBe(rateFor(model, first, { plan: 'gold' }));
  });

  test('stores of new priors only the weights that they change', () => {
    const model = createModel();
    show(model, 1000, 0.1, (at) => shownTo({ plan: String(at % 3) }));
    for (let round = 0; round < 2; round++) runAtOnce(estimateAllPriors(model));
    trackChanges(model);
    const { weights } = model.click.effects;
    const before = weights.first.slice();
    runAtOnce(estimateAllPriors(model));
    const differing = [...before.keys()].filter((slot) => before[slot] !== weights.first[slot]);
    expect(differing.length).toBeGreaterThan(0);
    expect([...(weights.changed ?? [])].sort((a, b) => a - b)).toEqual(differing);
  });

  test('takes in the whole of a trial over its ages, most of it when most successes come', () => {
    const delays = createDelays('click');
    for (let at = 0; at < 1000; at++) noteDelay(delays, 2000);
    const shares = sharesOf(delays);
    expect(shares.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
    expect((shares[0] as number) + (shares[1] as number)).toBeGreaterThan(0.9);
  });
});
