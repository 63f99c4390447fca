import { expect, test } from 'vitest';
import { isMessageFile, listFiles, readText, sources } from './source.ts';

const maxFileLines = 500;
const maxFunctionLines = 150;
const maxColumns = 120;

test(`no code file has more than ${maxFileLines} lines`, () => {
  const long = [...sources.values()].flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length;
    return lines > maxFileLines && !isMessageFile(path)
      ? [`${path} has ${lines} lines: split it by what its parts do.`]
      : [];
  });
  expect(long).toEqual([]);
});

test(`no function has more than ${maxFunctionLines} lines`, () => {
  const functions = [...sources.values()].flatMap(({ path, functions }) =>
    functions.map((declaration) => ({ path, ...declaration })),
  );
  expect(functions.length).toBeGreaterThan(2000);
  const long = functions.filter(({ lines }) => lines > maxFunctionLines);
  expect(
    long.map(({ path, name, line, lines }) => `${path}:${line} ${name} has ${lines} lines: move a step of it out.`),
  ).toEqual([]);
});

test(`no line has more than ${maxColumns} characters`, () => {
  const folders = ['src/', 'packages/', 'test/', 'bench/', 'demo/', 'scripts/', 'migrations/', 'assets/'];
  const files = folders.flatMap((folder) => listFiles(folder, /\.(ts|tsx|js|mjs|sql|css|html)$/));
  const long = files.flatMap((path) =>
    readText(path)
      .split('\n')
      .flatMap((text, at) => (text.length > maxColumns ? [`${path}:${at + 1} has ${text.length} characters.`] : [])),
  );
  expect(files.length).toBeGreaterThan(500);
  expect(long).toEqual([]);
});
