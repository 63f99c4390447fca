import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../packages/client/src/', import.meta.url);
const sources = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }));

/** What a file does, without what it says about it. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

test('the client imports nothing from outside its folder', () => {
  expect(sources.length).toBeGreaterThan(10);
  const imports = sources.flatMap(({ name, text }) =>
    [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, target = '']) => `${name}: ${target}`),
  );
  expect(imports.length).toBeGreaterThan(20);
  expect(imports.filter((line) => !/: \.\/[a-z-]+\.ts$/.test(line))).toEqual([]);
});

test('the client uses nothing that only Node, or only a page, or only a recent engine has', () => {
  const foreign =
    /\b(process|Buffer|require|__dirname|setImmediate|window|localStorage|XMLHttpRequest|structuredClone|hasOwn|withResolvers)\b(?!\.AdUser|\\\.AdUser)|\bdocument\.|\bnew URL\b|\bURLSearchParams\b|AbortSignal\.(timeout|any)|\(\?<[=!]/;
  const found = sources.flatMap(({ name, text }) => {
    const hit = foreign.exec(codeOf(text));
    return hit === null ? [] : [`${name}: ${hit[0]}`];
  });
  expect(found).toEqual([]);
});
