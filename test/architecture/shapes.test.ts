import { expect, test } from 'vitest';
import { sources } from './source.ts';

/** Code that runs on each fetch. */
const hot = /^src\/(decision\/(decide\.ts|rank\/|index\/)|offers\/fetch\/(committer|decide-session)\.ts)/;
/**
 * Matches an object spread that is followed by a property. `input` is exempt, because its existing properties are
 * replaced.
 */
const spreadFirst = /\{\s*\.\.\.(?!input\b)[^{}]*,\s*\w+/g;

test('no object of a fetch has a property after a spread (docs/adr/0022-spread-first.md)', () => {
  const files = [...sources.values()].filter(({ path }) => hot.test(path));
  expect(files.length).toBeGreaterThan(8);
  const matches = files.flatMap(({ path, text }) =>
    [...text.matchAll(spreadFirst)].map(({ index }) => {
      const line = text.slice(0, index).split('\n').length;
      return `${path}:${line}: write the added properties before the spread, or name all of them.`;
    }),
  );
  expect(matches).toEqual([]);
});

test('no object spreads an object literal', () => {
  const spreads = [...sources.values()].flatMap(({ path, text }) =>
    [...text.matchAll(/\.\.\.\{/g)].map(({ index }) => `${path}:${text.slice(0, index).split('\n').length}`),
  );
  expect(spreads).toEqual([]);
});
