import { expect, test } from 'vitest';
import { findUnknownLanguage } from '../../../src/platform/lib/language-names.ts';

test.each(['de', 'pt-BR', 'zh-Hant', 'sr-Latn-RS', 'es-419', 'iw', 'de-1901', 'gsw', 'qqq'])(
  '%s can be a language',
  (tag) => expect(findUnknownLanguage(tag)).toBe(null),
);

test.each([
  ['jp', 'jp', 'ja'],
  ['cz', 'cz', 'cs'],
  ['at', 'at', 'de'],
  ['german', 'german', 'de'],
  ['Deutsch', 'Deutsch', 'de'],
  ['français', 'français', 'fr'],
  ['en_US', 'en_US', 'en-US'],
  ['en-XX', 'XX', 'en'],
  ['en-Abcd', 'Abcd', 'en'],
  ['xx', 'xx', null],
  ['zz', 'zz', null],
  ['', '', null],
])('%j is not a language: %j does not exist, %j was probably meant', (text, part, suggestion) => {
  expect(findUnknownLanguage(text)).toEqual({ part, suggestion });
});
