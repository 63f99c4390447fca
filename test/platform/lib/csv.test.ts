import { expect, test } from 'vitest';
import { byteOrderMark, csvLine, unguardedText } from '../../../src/platform/lib/csv.ts';
import { readCsv } from '../../support/read-csv.ts';

const cellsOf = (text: string) => readCsv(text).map((cells) => cells.map(unguardedText));

test('reads back exactly what was written', () => {
  const texts = [
    ...['plain', 'a,b', 'say "yes"', 'two\nlines', '', 'ünï 日本 עברית', ';', '\tx', '"'],
    ...['=1+1', '+49', '-10 %', '@name', "'=quoted", "''+", "'tis", ' =x', '＝全角', '\n'],
  ];
  const file = byteOrderMark + texts.map((text) => csvLine(['key', text, 7])).join('');
  expect(cellsOf(file)).toEqual(texts.map((text) => ['key', text, '7']));
});

test('prevents spreadsheets from treating text as a formula', () => {
  expect(csvLine(['=cmd()', "'=cmd()", '-1', 'a=b'])).toBe("'=cmd(),''=cmd(),'-1,a=b\r\n");
});
