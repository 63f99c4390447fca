import { expect, test } from 'vitest';
import { namesEtag } from '../../../src/platform/http/etag.ts';

test.each([
  ['"a"', true],
  ['W/"a"', true],
  ['"b", W/"a"', true],
  ['"b","a"', true],
  ['*', true],
  ['"b"', false],
  ['a', false],
  ['', false],
  [undefined, false],
])('%s matches "a": %s', (header, expected) => expect(namesEtag(header, '"a"')).toBe(expected));
