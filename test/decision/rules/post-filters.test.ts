import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../src/catalog/conditions.ts';
import { matchesCondition } from '../../../src/decision/rules/post-filters.ts';

const matches = (condition: Condition, value: string): boolean =>
  matchesCondition(condition, new Map([['cart', value]]));

describe('a custom attribute that is a list or an object', () => {
  test.each(['["shoes"]', '[]', '{"total":5}', '{"a":"\n"}'])('%j is never used for targeting', (value) => {
    expect(matches({ key: 'cart', op: 'exists' }, value)).toBe(false);
    expect(matches({ key: 'cart', op: 'equals', value }, value)).toBe(false);
    expect(matches({ key: 'cart', op: 'in', value: [value] }, value)).toBe(false);
    expect(matches({ key: 'cart', op: 'prefix', value: value.slice(0, 1) }, value)).toBe(false);
    expect(matches({ key: 'cart', op: 'not_exists' }, value)).toBe(true);
  });

  test.each(['shoes', '[sale', 'a]', '{x', '5'])('%j is used as text', (value) => {
    expect(matches({ key: 'cart', op: 'equals', value }, value)).toBe(true);
  });
});
