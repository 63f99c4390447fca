import { expect, test } from 'vitest';
import type { Publisher } from '../../../src/catalog/types.ts';
import { decide } from '../../../src/decision/decide.ts';
import { isExploring } from '../../../src/decision/rank/sampled-ranking.ts';
import { exchangeRatesOf } from '../../../src/platform/exchange-rates.ts';
import { campaignOf, explainAtOnce, inputOf, noonMs, offersOf, publisherWith, shownBy } from '../support.ts';

/** Creates a campaign that pays per impression, so that its revenue is certain. */
const paying = (id: number, amount: number, currency: string) =>
  campaignOf(id, { payout: { kind: 'cpm', amountMicros: Math.round(amount * 1_000_000), currency } });

const offers = offersOf(paying(1, 300, 'JPY'), paying(2, 2, 'USD'), paying(3, 1, 'KWD'), paying(4, 900, 'HUF'));
const rates = exchangeRatesOf('EUR', [
  { currency: 'USD', valid_from: '2026-01-01', rate: '1' },
  { currency: 'JPY', valid_from: '2026-01-01', rate: '200' },
  { currency: 'KWD', valid_from: '2026-01-01', rate: '0.3' },
  { currency: 'USD', valid_from: '2026-11-22', rate: '4' },
]);
const seeds = Array.from({ length: 200 }, (_, seed) => seed).filter((seed) => !isExploring(seed));
const ranked = (publisher: Partial<Publisher>, nowMs = noonMs): number[][] => {
  const input = inputOf(publisherWith(offers, publisher), { context: { nowMs } });
  return seeds.map((seed) => shownBy(decide({ ...input, seed })));
};
const always = (order: number[]): number[][] => seeds.map(() => order);

test('campaigns are ranked by payout at the exchange rates, and those without a rate come last', () => {
  expect(ranked({ exchangeRates: rates })).toEqual(always([3, 2, 1, 4]));
  expect(ranked({ exchangeRates: rates, reportingCurrency: 'USD' })).toEqual(always([3, 2, 1, 4]));
});

test("the rate of the day in the publisher's time zone applies", () => {
  const evening = Date.UTC(2026, 10, 21, 23);
  expect(ranked({ exchangeRates: rates }, evening)).toEqual(always([3, 2, 1, 4]));
  expect(ranked({ exchangeRates: rates, timeZone: 'Europe/Berlin' }, evening)).toEqual(always([3, 1, 2, 4]));
});

test('only campaigns in the most frequent currency are compared by amount if there are no rates', () => {
  const more = [...offers, ...offersOf(paying(5, 1, 'USD'))];
  const input = inputOf(publisherWith(more));
  for (const seed of seeds) expect(shownBy(decide({ ...input, seed })).slice(0, 2)).toEqual([2, 5]);
});

test('the explanation shows the exchange rate of an offer, or that there is none', () => {
  const explanations = explainAtOnce(inputOf(publisherWith(offers, { exchangeRates: rates })));
  expect(Object.fromEntries(explanations.map(({ offer, influences }) => [offer.id, influences]))).toEqual({
    1: [{ property: 'exchange_rate', value: 'JPY/EUR', factor: 0.005 }],
    2: [{ property: 'exchange_rate', value: 'USD/EUR', factor: 1 }],
    3: [{ property: 'exchange_rate', value: 'KWD/EUR', factor: 3.33333333333 }],
    4: [{ property: 'exchange_rate', value: 'HUF/EUR', factor: 0 }],
  });
});

test('new rates affect the ranking immediately, with the same index and model', () => {
  const publisher = publisherWith(offers, { exchangeRates: rates });
  const doubled = exchangeRatesOf('EUR', [
    { currency: 'USD', valid_from: '2026-01-01', rate: '0.1' },
    { currency: 'JPY', valid_from: '2026-01-01', rate: '200' },
  ]);
  const [seed = 1] = seeds;
  const order = (exchangeRates: Publisher['exchangeRates']): number[] =>
    shownBy(decide(inputOf({ ...publisher, exchangeRates }, { seed })));
  expect(order(rates)).toEqual([3, 2, 1, 4]);
  expect(order(doubled).slice(0, 2)).toEqual([2, 1]);
  expect(order(rates)).toEqual([3, 2, 1, 4]);
});
