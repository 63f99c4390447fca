import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isCurrency, microsToNumber, parseMicros, shareOf, times } from '../../src/platform/money.ts';

const micros = fc.bigInt({ min: 0n, max: 999_999_999_999_999n });
const textOf = (value: bigint): string => `${value / 1_000_000n}.${String(value % 1_000_000n).padStart(6, '0')}`;

test('parses every amount exactly and formats it as the same number', () => {
  fc.assert(
    fc.property(micros, (value) => {
      expect(parseMicros(textOf(value))).toBe(value);
      expect(microsToNumber(value)).toBe(Number(textOf(value)));
      expect(microsToNumber(-value)).toBe(0 - Number(textOf(value)));
    }),
  );
});

test('rejects text that is not an amount', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) expect(parseMicros(text)).toBeNull();
    }),
  );
  for (const text of ['', '.5', '5.', ' 5', '5 ', '-0', '1_000', '1,000', '1e2', '0.0000001', '1000000000', '１２'])
    expect(parseMicros(text)).toBeNull();
});

test('rounds a share half up to the millionth, and never above the whole', () => {
  expect(shareOf(199_990_000n, 8_500_000n)).toBe(16_999_150n);
  expect(shareOf(1n, 50_000_000n)).toBe(1n);
  expect(shareOf(1n, 49_999_999n)).toBe(0n);
  fc.assert(
    fc.property(micros, fc.bigInt({ min: 0n, max: 100_000_000n }), (sale, percent) => {
      const share = shareOf(sale, percent);
      expect(share <= sale).toBe(true);
      const twice = 2n * (share * 100_000_000n - sale * percent);
      expect(twice > -100_000_000n && twice <= 100_000_000n).toBe(true);
    }),
  );
});

test('applies a factor exactly', () => {
  expect(times(12_500_000n, 100_000_000n)).toBe(1_250_000_000n);
  expect(times(1_000_001n, 500_000n)).toBe(500_001n);
  expect(times(999_999_999_999_999n, 99_999_999_999_900n)).toBe(99_999_999_999_899_900_000_000n);
});

test('accepts the currencies of ISO 4217', () => {
  for (const code of ['USD', 'EUR', 'JPY', 'CHF', 'KWD']) expect(isCurrency(code)).toBe(true);
  for (const code of ['usd', 'XXX', 'XTS', 'BTC', '', 'DEM', 'US']) expect(isCurrency(code)).toBe(false);
});
