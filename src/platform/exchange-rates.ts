import { divideHalfUp } from './money.ts';

/** Exchange rate in trillionths. An integer is exact, because a rate has at most twelve decimal places. */
type RateUnits = bigint;

/**
 * Stored exchange rate, which is the number of units of `currency` per unit of the base currency, valid from a given
 * day on.
 */
export type RateRow = {
  currency: string;
  /** First day on which the rate applies, in the publisher's time zone, such as `2026-11-21`. */
  valid_from: string;
  /** Exchange rate as a decimal number. */
  rate: string;
};

type DatedRate = { validFrom: string; units: RateUnits };

/** A publisher's exchange rates, prepared for conversions. */
export type ExchangeRates = {
  /** Base currency of the rates, or null if there are no rates. */
  base: string | null;
  /** Rates by currency, most recent first. */
  byCurrency: ReadonlyMap<string, readonly DatedRate[]>;
};

/** Conversion between two currencies. Amounts are multiplied by `numerator` and divided by `denominator`. */
export type Exchange = {
  numerator: bigint;
  denominator: bigint;
  /** First day on which the rate applies, or null if both currencies are the same. */
  validFrom: string | null;
};

const digits = 12;
const unit = 10n ** BigInt(digits);

/**
 * Parses a positive decimal with at most 12 significant digits and at most 12 digits on each side of the decimal point.
 * @returns the rate in trillionths, or null for any other text, such as signs, exponents and zero
 */
export function parseRate(text: string): bigint | null {
  const match = /^(\d{1,12})(?:\.(\d{1,12}))?$/.exec(text);
  if (match === null) return null;
  const [whole = '', fraction = ''] = [match[1], match[2]];
  if (`${whole}${fraction}`.replace(/^0+/, '').length > digits) return null;
  const units = BigInt(whole) * unit + BigInt(fraction.padEnd(digits, '0'));
  return units === 0n ? null : units;
}

/** Prepares stored rates for converting amounts. */
export function exchangeRatesOf(base: string | null, rows: readonly RateRow[]): ExchangeRates {
  const byCurrency = new Map<string, DatedRate[]>();
  for (const { currency, valid_from: validFrom, rate } of rows) {
    const units = parseRate(rate);
    if (units === null) continue;
    const dated = byCurrency.get(currency);
    if (dated === undefined) byCurrency.set(currency, [{ validFrom, units }]);
    else dated.push({ validFrom, units });
  }
  for (const dated of byCurrency.values()) dated.sort((a, b) => (a.validFrom < b.validFrom ? 1 : -1));
  return { base, byCurrency };
}

/**
 * Returns the conversion between two currencies on a given day, based on the most recent rates valid on that day. If
 * neither of them is the base currency, the conversion goes through the base currency.
 * @param day day in the publisher's time zone, such as `2026-11-21`
 * @returns null if a rate is missing
 */
export function exchangeOn(rates: ExchangeRates, from: string, to: string, day: string): Exchange | null {
  if (from === to) return { numerator: 1n, denominator: 1n, validFrom: null };
  const [sold, bought] = [rateOn(rates, from, day), rateOn(rates, to, day)];
  if (sold === null || bought === null) return null;
  const validFrom = sold.validFrom > bought.validFrom ? sold.validFrom : bought.validFrom;
  return { numerator: bought.units, denominator: sold.units, validFrom };
}

/** Returns the rate of a currency on a day, in units per unit of the base currency, or null if there is no rate. */
function rateOn({ base, byCurrency }: ExchangeRates, currency: string, day: string): DatedRate | null {
  if (currency === base) return { validFrom: '', units: unit };
  return byCurrency.get(currency)?.find(({ validFrom }) => validFrom <= day) ?? null;
}

/** Converts an amount (in millionths) to another currency, rounding half away from zero. */
export function exchangeMicros(micros: bigint, { numerator, denominator }: Exchange): bigint {
  if (micros < 0n) return -divideHalfUp(-micros * numerator, denominator);
  return divideHalfUp(micros * numerator, denominator);
}

/** Returns the value of one unit of the source currency in the target currency, with up to 12 significant digits. */
export const exchangeFactor = ({ numerator, denominator }: Exchange): number =>
  Number((Number(numerator) / Number(denominator)).toPrecision(digits));
