import type { Publisher } from '../catalog/types.ts';
import { type ExchangeRates, exchangeFactor, exchangeOn } from '../platform/exchange-rates.ts';
import { offsetMs } from '../platform/lib/time-zone.ts';
import type { EligibilityIndex } from './eligibility.ts';

/** Exchange rates on a given day, for comparing amounts in different currencies. */
export type Comparison = {
  /** Currency into which all amounts are converted for the comparison. */
  currency: string;
  /** Cache key for the exchange rates. Comparisons with the same key have the same conversion factors. */
  key: string;
  /** Conversion factors by currency. Null if there is no exchange rate for the currency. */
  factors: ReadonlyMap<string, number | null>;
};

type CachedComparison = { rates: ExchangeRates; day: string; preferredCurrency: string | null; comparison: Comparison };
const lastMade = new WeakMap<EligibilityIndex, CachedComparison>();
const currencyCounts = new WeakMap<EligibilityIndex, ReadonlyMap<string, number>>();

/**
 * Returns how to compare payouts in different currencies. The common currency is the publisher's reporting currency, or
 * else the base currency of its exchange rates, or else the currency of most payouts.
 * @returns null if all payouts have the same currency
 */
export function comparisonOf(index: EligibilityIndex, publisher: Publisher, nowMs: number): Comparison | null {
  const counts = countsOf(index);
  if (counts.size < 2) return null;
  const { exchangeRates: rates, reportingCurrency, timeZone } = publisher;
  const preferredCurrency = reportingCurrency ?? rates.base;
  const day = new Date(nowMs + offsetMs(timeZone, nowMs)).toISOString().slice(0, 10);
  const last = lastMade.get(index);
  if (last?.rates === rates && last.day === day && last.preferredCurrency === preferredCurrency) return last.comparison;
  const comparison = compare([...counts.keys()].sort(), rates, {
    currency: preferredCurrency ?? mostFrequent(counts),
    day,
  });
  lastMade.set(index, { rates, day, preferredCurrency, comparison });
  return comparison;
}

function compare(
  currencies: readonly string[],
  rates: ExchangeRates,
  { currency, day }: { currency: string; day: string },
): Comparison {
  const factors = new Map<string, number | null>();
  for (const from of currencies) {
    const exchange = exchangeOn(rates, from, currency, day);
    factors.set(from, exchange && exchangeFactor(exchange));
  }
  return { currency, key: ` ${currency} ${JSON.stringify([...factors])}`, factors };
}

function countsOf(index: EligibilityIndex): ReadonlyMap<string, number> {
  const cachedCounts = currencyCounts.get(index);
  if (cachedCounts !== undefined) return cachedCounts;
  const counts = new Map<string, number>();
  for (const { payout } of index.candidates)
    if (payout.amountMicros > 0) counts.set(payout.currency, (counts.get(payout.currency) ?? 0) + 1);
  currencyCounts.set(index, counts);
  return counts;
}

const mostFrequent = (counts: ReadonlyMap<string, number>): string =>
  [...counts].sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || (a < b ? -1 : 1))[0]?.[0] ?? '';
