import type { Executor } from '../platform/db/pool.ts';
import { type ExchangeRates, exchangeRatesOf, type RateRow } from '../platform/exchange-rates.ts';

/** Loads all exchange rates of a publisher, including past ones. Requests use those of the snapshot. */
export async function loadExchangeRates(executor: Executor, publisherId: number): Promise<ExchangeRates> {
  const { rows } = await executor.query<RateRow & { base: string | null }>({
    name: 'load_exchange_rates',
    text: `select p.rates_base as base, r.currency, r.valid_from::text as valid_from, trim_scale(r.rate)::text as rate
    from publishers p join exchange_rates r on r.publisher_id = p.id where p.id = $1`,
    values: [publisherId],
  });
  return exchangeRatesOf(rows[0]?.base ?? null, rows);
}
