import { expect, test } from 'vitest';
import { joinList, splitList } from '../../src/shell/forms.ts';

test('a list is parsed to the items that were written, whatever they contain', () => {
  for (const items of [
    ['a', 'b'],
    ['a, b', 'c'],
    ['"quoted"', ' blank ', 'two\nlines'],
    ['"', '""', ','],
  ])
    expect(splitList(joinList(items))).toEqual(items);
  expect(splitList(' a ,\n\n "b, c" \n  "d"\t,, e"f, "g" h')).toEqual(['a', 'b, c', 'd', 'e"f', '"g" h']);
});

test.each([
  ['line breaks', '\n'],
  ['spaces', ' '],
  ['blank lines', ' \n'],
  ['commas', ','],
  ['quotes', '"'],
  ['quoted commas', '",'],
])('a list with half a megabyte of %s is parsed quickly', (_what, text) => {
  expect(splitList(`a${text.repeat(500_000 / text.length)},z`).at(-1)).toMatch(/z$/);
});
