import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../packages/client/src/', import.meta.url);
const sources = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }));

/** Returns the code of a file without comments. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

/** Files of the React entry point for web pages. */
const onPages = new Set(['launcher.ts', 'react.ts']);

test('the client imports nothing from outside its directory, except React for its component', () => {
  expect(sources.length).toBeGreaterThan(10);
  const imports = sources.flatMap(({ name, text }) =>
    [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, target = '']) => `${name}: ${target}`),
  );
  expect(imports.length).toBeGreaterThan(20);
  expect(imports.filter((line) => !/: \.\/[a-z-]+\.ts$/.test(line))).toEqual(['react.ts: react']);
  const main = sources
    .filter(({ name }) => !onPages.has(name))
    .flatMap(({ text }) => text.match(/\.\/[a-z-]+\.ts/g) ?? []);
  expect(main.filter((path) => onPages.has(path.slice(2)))).toEqual([]);
});

test('the client uses no features specific to Node, browsers or recent engines', () => {
  const globals = [
    'process|Buffer|require|__dirname|setImmediate',
    'window|localStorage|XMLHttpRequest',
    'structuredClone|hasOwn|withResolvers',
  ].join('|');
  const calls = [/\bdocument\./, /\bnew URL\b/, /\bURLSearchParams\b/, /AbortSignal\.(timeout|any)/, /\(\?<[=!]/];
  const unportable = new RegExp(
    [`\\b(${globals})\\b(?!\\.AdUser|\\\\\\.AdUser)`, ...calls.map(({ source }) => source)].join('|'),
  );
  const matches = sources
    .filter(({ name }) => !onPages.has(name))
    .flatMap(({ name, text }) => {
      const match = unportable.exec(codeOf(text));
      return match === null ? [] : [`${name}: ${match[0]}`];
    });
  expect(matches).toEqual([]);
});
