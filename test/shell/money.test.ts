import { expect, test } from 'vitest';
import { inLanguage } from '../../src/platform/i18n/reader.ts';
import { moneyFormat } from '../../src/shell/format.ts';

const write = (currency: string | null, value: number): string =>
  inLanguage('en', () => moneyFormat(currency)(value)).replaceAll('\u00a0', ' ');

test.each([
  ['USD', 1234.5, /1,234\.50$/],
  ['JPY', 1234, /1,234$/],
  ['KRW', 5_000_000, /5,000,000$/],
  ['KWD', 1.125, /1\.125$/],
  ['BHD', 0.5, /0\.500$/],
  ['XXX', 15, /^XXX 15\.00$/],
  [null, 15, /^15\.00$/],
])('an amount in %s has the decimals of its currency', (currency, value, text) => {
  expect(write(currency, value)).toMatch(text);
});

test.each([
  ['USD', 0.0031, /0\.0031$/],
  ['JPY', 0.4, /0\.4$/],
  ['KWD', 0.000_25, /0\.00025$/],
  [null, -0.001, /^-0\.001$/],
])('an amount in %s below its smallest unit is not shown as 0', (currency, value, text) => {
  expect(write(currency, value)).toMatch(text);
});

test('an amount of 0 is shown as 0', () => {
  expect(write('JPY', 0)).toMatch(/[^.]0$/);
  expect(write('USD', 0)).toMatch(/0\.00$/);
});
