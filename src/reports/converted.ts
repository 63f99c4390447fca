import { loadExchangeRates } from '../catalog/exchange-rates.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type ExchangeRates, exchangeMicros, exchangeOn } from '../platform/exchange-rates.ts';
import { microsToNumber } from '../platform/money.ts';
import type { MoneySum } from './metrics.ts';
import { queryMoneyByDay } from './query/query.ts';
import type { ActivityQuery } from './query/types.ts';

/** A total in the reporting currency of a publisher, in units of it. */
export type ConvertedTotal = {
  currency: string;
  revenue: number;
  unbilled: number;
  /** First day of the latest rate that was used; null: no amount was in another currency. */
  rates_as_of: string | null;
};

/** Money of one day. */
type DayMoney = { day: string; money: readonly MoneySum[] };

/**
 * Converts the money of each day at the rates of the day.
 * @returns null: a currency has no rate on a day, so there is no total
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
 * @param zone time zone of the publisher: exchange rates are of its days, whatever time zone the query has
 */
export async function readConvertedTotal(
  executor: Executor,
  query: ActivityQuery,
  { zone, to }: { zone: string; to: string },
): Promise<ConvertedTotal | null> {
  const days = await queryMoneyByDay(executor, query, zone);
  return convertTotal(days, await loadExchangeRates(executor, query.publisherId), to);
}
