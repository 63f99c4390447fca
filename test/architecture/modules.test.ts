import { expect, test } from 'vitest';
import { argumentsOf } from '../support/module-list.ts';
import { isPublic, libraries, moduleOf, narrower, order, rootFiles } from './modules.ts';
import { sources } from './source.ts';

const isOwn = (target: string): boolean => /^(src|packages)\//.test(target) || target === '@perkwire/client';
const edges = [...sources.values()].flatMap(({ path, imports }) =>
  imports.filter(({ target }) => isOwn(target)).map(({ target }) => ({ from: path, to: target })),
);

/** Returns one cycle of a graph as "a → b → a", or null if none exists. */
function circle(graph: ReadonlyMap<string, readonly string[]>): string | null {
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (name: string): string | null => {
    const at = path.indexOf(name);
    if (at !== -1) return [...path.slice(at), name].join(' → ');
    if (done.has(name)) return null;
    path.push(name);
    for (const next of graph.get(name) ?? []) {
      const cycle = walk(next);
      if (cycle !== null) return cycle;
    }
    path.pop();
    done.add(name);
    return null;
  };
  for (const name of graph.keys()) {
    const cycle = walk(name);
    if (cycle !== null) return cycle;
  }
  return null;
}

test('every file belongs to a listed module, and only listed files are in the root directory', () => {
  const paths = [...sources.keys()];
  expect(paths.length).toBeGreaterThan(300);
  expect(order.length).toBe(new Set(order).size);
  expect(paths.filter((path) => !order.includes(moduleOf(path)))).toEqual([]);
  expect(paths.filter((path) => /^src\/[^/]+$/.test(path))).toEqual(rootFiles);
});

test('a module imports only modules that are created before it, types included', () => {
  expect(edges.length).toBeGreaterThan(1000);
  const climbing = edges.filter(({ from, to }) => order.indexOf(moduleOf(from)) < order.indexOf(moduleOf(to)));
  const sentences = climbing.map(
    ({ from, to }) =>
      `${from} imports ${to}, but src/modules.ts makes ${moduleOf(to)} after ${moduleOf(from)}. ` +
      'Move what both need to an earlier module, or hand it in.',
  );
  expect(sentences).toEqual([]);
});

test('a module receives exactly the modules that its files import, types included', () => {
  expect(argumentsOf.size).toBeGreaterThan(20);
  const sentences = [...argumentsOf].flatMap(([module, argumentModules]) => {
    const imported = new Set(edges.filter(({ from }) => moduleOf(from) === module).map(({ to }) => moduleOf(to)));
    const missing = [...imported].filter(
      (name) => argumentsOf.has(name) && name !== module && !argumentModules.includes(name),
    );
    const needless = argumentModules.filter((name) => !imported.has(name));
    return [
      ...missing.map((name) => `${module} imports from ${name}, but src/modules.ts does not hand it in.`),
      ...needless.map((name) => `src/modules.ts hands ${name} to ${module}, which imports nothing of it.`),
    ];
  });
  expect(sentences).toEqual([]);
});

test("a module imports only other modules' public files, at the top of their directories", () => {
  const assembly = ['runtime', 'root'];
  const deep = edges.filter(({ from, to }) => {
    const [a, b] = [moduleOf(from), moduleOf(to)];
    const isOne = a === b || (assembly.includes(a) && assembly.includes(b));
    return !isOne && !(libraries as readonly string[]).includes(b) && !isPublic(to);
  });
  const sentences = deep.map(
    ({ from, to }) =>
      `${from} imports ${to}, which is private to ${moduleOf(to)}. ` +
      `If others need it, move it to the top of src/${moduleOf(to)}/.`,
  );
  expect(sentences).toEqual([]);
});

test('the pure decision and the browser scripts import only from their own lists', () => {
  const forbidden = edges.flatMap(({ from, to }) => {
    const folder = Object.keys(narrower).find((prefix) => from.startsWith(prefix));
    if (folder === undefined || narrower[folder]?.some((prefix) => to.startsWith(prefix))) return [];
    return [`${from} imports ${to}: ${folder} may import ${narrower[folder]?.join(', ')} only.`];
  });
  expect(forbidden).toEqual([]);
});

test('no files import each other circularly, types included', () => {
  const graph = new Map([...sources.values()].map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  expect(circle(graph)).toBe(null);
});
