/** Amounts of money are whole millionths of their currency: exact at every step. */

const unit = 1_000_000n;

/** At most nine digits: up to this every amount is exact as a JSON number, too. */
const pattern = /^(\d{1,9})(?:\.(\d{1,6}))?$/;

/**
 * Reads a decimal such as `12.50`; null for anything else: signs, exponents, more than six decimals, more than nine
 * digits before them.
 */
export function parseMicros(text: string): bigint | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  return BigInt(match[1] as string) * unit + BigInt((match[2] ?? '').padEnd(6, '0'));
}

/** A JSON number: 12500000n → 12.5. */
export const microsToNumber = (micros: bigint): number => Number(micros) / Number(unit);

const hundredPercent = 100n * unit;

/** A percentage (in millionths of a percent) of an amount, rounded half up. Both from 0. */
export const shareOf = (micros: bigint, percentMicros: bigint): bigint =>
  divideHalfUp(micros * percentMicros, hundredPercent);

/** An amount times a factor (in millionths), rounded half up. Both from 0. */
export const times = (micros: bigint, factorMicros: bigint): bigint => divideHalfUp(micros * factorMicros, unit);

const divideHalfUp = (value: bigint, by: bigint): bigint => (value * 2n + by) / (by * 2n);
