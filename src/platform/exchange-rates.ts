import { divideHalfUp } from './money.ts';

/** A rate in trillionths: exact, since a rate has at most twelve digits after the point. */
type RateUnits = bigint;

/** A stored rate: units of `currency` for one unit of the base, from a day on. */
export type RateRow = {
  currency: string;
  /** `2026-11-21`, in the publisher's time zone. */
  valid_from: string;
  /** Decimal. */
  rate: string;
};

type DatedRate = { validFrom: string; units: RateUnits };

/** Exchange rates of a publisher. */
export type ExchangeRates = {
  /** The currency that one unit of is exchanged; null: there are no rates. */
  base: string | null;
  /** Latest first. */
  byCurrency: ReadonlyMap<string, readonly DatedRate[]>;
};

/** How an amount is exchanged: multiplied by `numerator` and divided by `denominator`. */
export type Exchange = {
  numerator: bigint;
  denominator: bigint;
  /** The day since when it is valid; null: no rate is needed between a currency and itself. */
  validFrom: string | null;
};

const digits = 12;
const unit = 10n ** BigInt(digits);

/**
 * Reads a positive decimal with at most 12 significant digits, at most 12 of them before or after the point.
 * @returns trillionths; null for anything else, such as signs, exponents and zero
 */
export function parseRate(text: string): bigint | null {
  const match = /^(\d{1,12})(?:\.(\d{1,12}))?$/.exec(text);
  if (match === null) return null;
  const [whole = '', fraction = ''] = [match[1], match[2]];
  if (`${whole}${fraction}`.replace(/^0+/, '').length > digits) return null;
  const units = BigInt(whole) * unit + BigInt(fraction.padEnd(digits, '0'));
  return units === 0n ? null : units;
}

/** Rates as they are stored, ready to convert amounts. */
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
 * How amounts of one currency are exchanged for another on a day: at the latest rates that are valid on it, and through
 * the base where it is neither of the two.
 * @param day `2026-11-21`, in the publisher's time zone
 * @returns null: there is no rate for one of them
 */
export function exchangeOn(rates: ExchangeRates, from: string, to: string, day: string): Exchange | null {
  if (from === to) return { numerator: 1n, denominator: 1n, validFrom: null };
  const [sold, bought] = [rateOn(rates, from, day), rateOn(rates, to, day)];
  if (sold === null || bought === null) return null;
  const validFrom = sold.validFrom > bought.validFrom ? sold.validFrom : bought.validFrom;
  return { numerator: bought.units, denominator: sold.units, validFrom };
}

/** Units of a currency for one of the base. */
function rateOn({ base, byCurrency }: ExchangeRates, currency: string, day: string): DatedRate | null {
  if (currency === base) return { validFrom: '', units: unit };
  return byCurrency.get(currency)?.find(({ validFrom }) => validFrom <= day) ?? null;
}

/** An amount (millionths) in the other currency, rounded half up; a negative one is the opposite of the positive. */
export function exchangeMicros(micros: bigint, { numerator, denominator }: Exchange): bigint {
  if (micros < 0n) return -divideHalfUp(-micros * numerator, denominator);
  return divideHalfUp(micros * numerator, denominator);
}

/** What one unit of the currency is exchanged for, with up to 12 significant digits. */
export const exchangeFactor = ({ numerator, denominator }: Exchange): number =>
  Number((Number(numerator) / Number(denominator)).toPrecision(digits));
