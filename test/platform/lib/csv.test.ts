import { expect, test } from 'vitest';
import { byteOrderMark, csvLine, readCsv } from '../../../src/platform/lib/csv.ts';

const cellsOf = (text: string) => [...readCsv(text)].map(({ cells }) => cells);

test('what is written is read again as it was', () => {
  const texts = [
    ...['plain', 'a,b', 'say "yes"', 'two\nlines', '', 'ünï 日本 עברית', ';', '\tx', '"'],
    ...['=1+1', '+49', '-10 %', '@name', "'=quoted", "''+", "'tis", ' =x', '＝全角', '\n'],
  ];
  const file = byteOrderMark + texts.map((text) => csvLine(['key', text, 7])).join('');
  expect(cellsOf(file)).toEqual(texts.map((text) => ['key', text, '7']));
});

test('a spreadsheet takes no text for a formula', () => {
  expect(csvLine(['=cmd()', "'=cmd()", '-1', 'a=b'])).toBe("'=cmd(),''=cmd(),'-1,a=b\r\n");
});

test.each([
  [
    'a;b;c\n1;2;3',
    [
      ['a', 'b', 'c'],
      ['1', '2', '3'],
    ],
  ],
  [
    'a\tb\r1\t2\r',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\r\n\r\n , \r\n,,\r\n1,2',
    [
      ['a', 'b'],
      [' ', ' '],
      ['1', '2'],
    ],
  ],
  [
    'a,"open\nx,y',
    [
      ['a', '"open'],
      ['x', 'y'],
    ],
  ],
  ['a,"b" ,c', [['a', 'b', 'c']]],
  ['', []],
])('files as spreadsheets save them: %j', (text, expected) => {
  expect(cellsOf(text)).toEqual(expected);
});

test('a record is named by the line that it begins in', () => {
  expect([...readCsv('a,b\n"1\n2\r\n3",x\n4,5')].map(({ line }) => line)).toEqual([1, 2, 5]);
});

test('a large file of quotes is read in no time out of proportion', () => {
  expect(cellsOf(`a,b\n${'"'.repeat(400_001)},x`).length).toBe(2);
  expect(cellsOf(`"${'x'.repeat(4_000_000)}",y`)[0]?.[1]).toBe('y');
});
