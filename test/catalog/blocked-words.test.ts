import { describe, expect, test } from 'vitest';
import { wordFinder } from '../../src/catalog/names.ts';

describe('a blocked word', () => {
  test.each([
    ['loan', 'A LOAN for you', true],
    ['loan', 'loans and reloaned', false],
    ['loan', 'loan, now', true],
    ['payday loan', 'Payday\n  Loans', false],
    ['payday loan', 'a payday \u00a0 loan.', true],
    ['c++', 'Learn C++ today', true],
    ['c++', 'Vitamin C today', false],
    ['.net', 'on .NET 9', true],
    ['.net', 'the net', false],
    ['.*', 'anything', false],
    ['(a+)+$', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa!', false],
    ['[x]', 'is [X] here', true],
    ['$$$', 'win $$$!', true],
    ['straße', 'STRAßE', true],
    ['café', 'cafe\u0301 noir', true],
    ['ａｌｃｏｈｏｌ', 'alcohol', true],
    ['вино', 'Красное ВИНО', true],
    ['賭博', 'オンライン賭博サイト', true],
    ['a', 'a\u0301', false],
  ])('%j in %j: %s', (word, text, isFound) => {
    expect(wordFinder([word])(text)).toBe(isFound ? word : null);
  });

  test('is found among a thousand others, and blank words match nothing', () => {
    const words = Array.from({ length: 1000 }, (_, index) => `word${index} of`);
    expect(wordFinder([...words, ' ', 'gin'])('word999 off, word998 of GIN')).toBe('word998 of');
    expect(wordFinder([' ', ''])('anything at all')).toBeNull();
  });
});
