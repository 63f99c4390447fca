import { loadExchangeRates } from '../catalog/store.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type ExchangeRates, exchangeMicros, exchangeOn } from '../platform/exchange-rates.ts';
import { microsToNumber } from '../platform/money.ts';
import type { MoneySum } from './metrics.ts';
import { queryMoneyByDay } from './query/query.ts';
import type { ActivityQuery } from './query/types.ts';

/** Total in a publisher's reporting currency, in currency units. */
export type ConvertedTotal = {
  currency: string;
  revenue: number;
  unbilled: number;
  /**
   * Date of the exchange rates: the first day on which the most recent of the rates used is valid. Null if no amount
   * had to be converted.
   */
  rates_as_of: string | null;
};

/** Amounts of one day, by currency. */
type DayMoney = { day: string; money: readonly MoneySum[] };

/**
 * Converts each day's amounts at the exchange rates of that day.
 * @returns the total, or null if a rate is missing
 */
export function convertTotal(days: readonly DayMoney[], rates: ExchangeRates, to: string): ConvertedTotal | null {
  let [revenue, unbilled, asOf] = [0n, 0n, ''];
  for (const { day, money } of days)
    for (const { currency, revenueMicros, unbilledMicros } of money) {
      const exchange = exchangeOn(rates, currency, to, day);
      if (exchange === null) return null;
      revenue += exchangeMicros(BigInt(revenueMicros), exchange);
      unbilled += exchangeMicros(BigInt(unbilledMicros), exchange);
      if (exchange.validFrom !== null && exchange.validFrom > asOf) asOf = exchange.validFrom;
    }
  return {
    currency: to,
    revenue: microsToNumber(revenue),
    unbilled: microsToNumber(unbilled),
    rates_as_of: asOf === '' ? null : asOf,
  };
}

/**
 * Returns a query's total, converted to another currency.
 * @param zone time zone of the publisher. Exchange rates apply to days in this zone, even if the query uses another
 * time zone.
 */
export async function readConvertedTotal(
  executor: Executor,
  query: ActivityQuery,
  { zone, to }: { zone: string; to: string },
): Promise<ConvertedTotal | null> {
  const days = await queryMoneyByDay(executor, query, zone);
  return convertTotal(days, await loadExchangeRates(executor, query.publisherId), to);
}
