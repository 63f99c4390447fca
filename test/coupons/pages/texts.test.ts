import { expect, test } from 'vitest';
import { asReader, readerOf } from '../../../src/platform/i18n/reader.ts';
import { apiText } from '../../../src/shell/api-text.ts';

test.each([
  'must not be blank',
  'has 201 characters; a code may have 200',
  'must be readable text of one line',
  'must be a whole number from 1 to 1000000',
  'has 10 codes; 500 that cannot be guessed need 5000: add # or *',
  'has nearly no codes that the pool does not have',
  'must be a time such as 2031-01-31T12:00:00Z',
  'The pool has codes of its own; remove those that are left first.',
  'The pool has one code for all users; remove it first.',
  'Codes of this offer are being loaded.',
  'lies in the future',
])('a refusal is written in German: %s', (text) => {
  expect(asReader(readerOf('de-DE', null), () => apiText(text))).not.toBe(text);
});
