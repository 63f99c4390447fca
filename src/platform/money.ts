/** Amounts are integers in millionths of their currency, so that every step of a calculation is exact. */

const unit = 1_000_000n;

/** Matches at most nine digits before the decimal point, so that every amount is also exact as a JSON number. */
const pattern = /^(\d{1,9})(?:\.(\d{1,6}))?$/;

/**
 * Parses a decimal amount such as `12.50` to millionths. Returns null for signs, exponents, more than six decimal
 * places, more than nine digits before the decimal point, and any other text.
 */
export function parseMicros(text: string): bigint | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  return BigInt(match[1] as string) * unit + BigInt((match[2] ?? '').padEnd(6, '0'));
}

/** Converts millionths to a JSON number in currency units: 12500000n → 12.5. */
export const microsToNumber = (micros: bigint): number => fromMicros(Number(micros));

/** Converts millionths to currency units: 12500000 → 12.5. */
export const fromMicros = (micros: number): number => micros / 1_000_000;

/** Converts currency units to millionths, rounded: 12.5 → 12500000. */
export const toMicros = (amount: number): number => Math.round(amount * 1_000_000);

const hundredPercent = 100n * unit;

/**
 * Returns a percentage of an amount, rounded half up. The percentage is in millionths of a percent. Neither value may
 * be negative.
 */
export const shareOf = (micros: bigint, percentMicros: bigint): bigint =>
  divideHalfUp(micros * percentMicros, hundredPercent);

/** Multiplies an amount by a factor in millionths, rounded half up. Neither value may be negative. */
export const times = (micros: bigint, factorMicros: bigint): bigint => divideHalfUp(micros * factorMicros, unit);

/** Divides one value by another, rounded half up. Neither value may be negative. */
export const divideHalfUp = (value: bigint, by: bigint): bigint => (value * 2n + by) / (by * 2n);

/** ISO 4217 codes of the currencies in current use. */
const codes = new Set(
  `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD
CAD CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD
KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK
NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD
SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF
XCD XCG XOF XPF YER ZAR ZMW ZWG`.split(/\s/),
);

/**
 * ISO 4217 code for "no currency". It marks amounts from earlier releases whose currency can no longer be determined.
 */
export const unknownCurrency = 'XXX';

/** Whether an upper-case code is an ISO 4217 currency. */
export const isCurrency = (code: string): boolean => codes.has(code);
