import { divideHalfUp } from './money.ts';

/** A rate in trillionths. This is exact, because a rate has at most twelve decimals. */
type RateUnits = bigint;

/** A stored rate: units of `currency` for one unit of the base, from a day on. */
export type RateRow = {
  currency: string;
  /** Day in the publisher's time zone, such as `2026-11-21`. */
  valid_from: string;
  /** Decimal number. */
  rate: string;
};

type DatedRate = { validFrom: string; units: RateUnits };

/** Exchange rates of a publisher. */
export type ExchangeRates = {
  /** Base currency of the rates; null if there are no rates. */
  base: string | null;
  /** Rates of each currency, latest first. */
  byCurrency: ReadonlyMap<string, readonly DatedRate[]>;
};

/** A conversion: amounts are multiplied by `numerator` and divided by `denominator`. */
export type Exchange = {
  numerator: bigint;
  denominator: bigint;
  /** Day since which the rate is valid; null if both currencies are the same. */
  validFrom: string | null;
};

const digits = 12;
const unit = 10n ** BigInt(digits);

/**
 * Parses a positive decimal with at most 12 significant digits, and at most 12 digits before or after the point.
 * @returns trillionths, or null for anything else, such as signs, exponents and zero
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
 * Returns the conversion from one currency to another on a day, with the latest rates valid on that day. If neither is
 * the base currency, it converts through the base.
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

/** Units of a currency for one unit of the base. */
function rateOn({ base, byCurrency }: ExchangeRates, currency: string, day: string): DatedRate | null {
  if (currency === base) return { validFrom: '', units: unit };
  return byCurrency.get(currency)?.find(({ validFrom }) => validFrom <= day) ?? null;
}

/**
 * Converts an amount (millionths), rounded half up. The result of a negative amount mirrors that of the positive one.
 */
export function exchangeMicros(micros: bigint, { numerator, denominator }: Exchange): bigint {
  if (micros < 0n) return -divideHalfUp(-micros * numerator, denominator);
  return divideHalfUp(micros * numerator, denominator);
}

/** Value of one unit of the currency, with up to 12 significant digits. */
export const exchangeFactor = ({ numerator, denominator }: Exchange): number =>
  Number((Number(numerator) / Number(denominator)).toPrecision(digits));
