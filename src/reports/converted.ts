import { loadExchangeRates } from '../catalog/store.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type ExchangeRates, exchangeMicros, exchangeOn } from '../platform/exchange-rates.ts';
import { microsToNumber } from '../platform/money.ts';
import type { MoneySum } from './metrics.ts';
import { queryMoneyByDay } from './query/query.ts';
import type { ActivityQuery } from './query/types.ts';

/** Total in the reporting currency of a publisher, in units of it. */
export type ConvertedTotal = {
  currency: string;
  revenue: number;
  unbilled: number;
  /** First day of the latest exchange rate used, or null if no amount was in another currency. */
  rates_as_of: string | null;
};

/** Money of one day. */
type DayMoney = { day: string; money: readonly MoneySum[] };

/**
 * Converts the money of each day at the rates of that day.
 * @returns null if a rate is missing, so that there is no total
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
 * Reads the total of a query in another currency.
 * @param zone time zone of the publisher: exchange rates apply to its days, whatever the time zone of the query
 */
export async function readConvertedTotal(
  executor: Executor,
  query: ActivityQuery,
  { zone, to }: { zone: string; to: string },
): Promise<ConvertedTotal | null> {
  const days = await queryMoneyByDay(executor, query, zone);
  return convertTotal(days, await loadExchangeRates(executor, query.publisherId), to);
}
