import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  exchangeFactor,
  exchangeMicros,
  exchangeOn,
  exchangeRatesOf,
  parseRate,
} from '../../src/platform/exchange-rates.ts';

const rates = exchangeRatesOf('EUR', [
  { currency: 'USD', valid_from: '2026-01-01', rate: '1.08' },
  { currency: 'USD', valid_from: '2026-02-01', rate: '1.25' },
  { currency: 'JPY', valid_from: '2026-01-15', rate: '160' },
  { currency: 'KWD', valid_from: '2026-01-01', rate: '0.3325' },
]);
const converted = (micros: bigint, from: string, to: string, day: string): bigint | null => {
  const exchange = exchangeOn(rates, from, to, day);
  return exchange && exchangeMicros(micros, exchange);
};

test('an amount is converted at the latest rate that is valid on its date', () => {
  expect(converted(1_080_000n, 'USD', 'EUR', '2026-01-31')).toBe(1_000_000n);
  expect(converted(1_250_000n, 'USD', 'EUR', '2026-02-01')).toBe(1_000_000n);
  expect(converted(1_250_000n, 'USD', 'EUR', '2030-01-01')).toBe(1_000_000n);
  expect(exchangeOn(rates, 'USD', 'EUR', '2026-01-31')?.validFrom).toBe('2026-01-01');
});

test('a missing direction is inverted, and other pairs are converted through the base currency', () => {
  expect(converted(1_000_000n, 'EUR', 'USD', '2026-01-10')).toBe(1_080_000n);
  expect(converted(160_000_000n, 'JPY', 'USD', '2026-02-02')).toBe(1_250_000n);
  expect(exchangeOn(rates, 'JPY', 'USD', '2026-02-02')?.validFrom).toBe('2026-02-01');
});

test('currencies with no or three decimals are converted like all others', () => {
  expect(converted(1_000_000n, 'KWD', 'JPY', '2026-02-02')).toBe(481_203_008n);
  expect(converted(1n, 'JPY', 'KWD', '2026-02-02')).toBe(0n);
});

test('without a rate on the date nothing is converted, unless the currencies are equal', () => {
  expect(converted(1n, 'USD', 'EUR', '2025-12-31')).toBeNull();
  expect(converted(1n, 'JPY', 'EUR', '2026-01-14')).toBeNull();
  expect(converted(1n, 'GBP', 'EUR', '2026-02-02')).toBeNull();
  expect(exchangeOn(exchangeRatesOf(null, []), 'GBP', 'GBP', '2026-02-02')).toEqual({
    numerator: 1n,
    denominator: 1n,
    validFrom: null,
  });
});

test('a voided conversion is converted to the exact opposite amount', () => {
  const currency = fc.constantFrom('USD', 'EUR', 'JPY', 'KWD');
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), currency, currency, (micros, from, to) => {
      const exchange = exchangeOn(rates, from, to, '2026-03-01');
      if (exchange === null) throw new Error('has a rate');
      expect(exchangeMicros(-micros, exchange)).toBe(-exchangeMicros(micros, exchange));
    }),
  );
});

test('rates are positive decimals with at most 12 significant digits', () => {
  for (const [text, units] of [
    ['1.08', 1_080_000_000_000n],
    ['000123.4500', 123_450_000_000_000n],
    ['0.000000000001', 1n],
    ['123456789012', 123_456_789_012n * 10n ** 12n],
  ] as const)
    expect(parseRate(text), text).toBe(units);
  for (const text of [
    '',
    '0',
    '0.00',
    '-1',
    '+1',
    '1e3',
    '1,08',
    '.5',
    '5.',
    ' 1',
    '1234567890123',
    '1.234567890123',
    'NaN',
    'Infinity',
    '0.0000000000001',
    '１',
  ])
    expect(parseRate(text), text).toBeNull();
});

test('an exchange factor is a number with at most 12 digits', () => {
  const exchange = exchangeOn(rates, 'USD', 'EUR', '2026-01-31');
  expect(exchange && exchangeFactor(exchange)).toBe(0.925925925926);
});
