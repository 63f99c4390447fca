import { expect, test } from 'vitest';
import { narrower, roomOf, rooms, rootFiles } from './rooms.ts';
import { sources } from './source.ts';

const isOwn = (target: string): boolean => /^(src|packages)\//.test(target) || target === '@perkwire/client';
const edges = [...sources.values()].flatMap(({ path, imports }) =>
  imports.filter(({ target }) => isOwn(target)).map(({ target }) => ({ from: path, to: target })),
);

/** One circle of a graph as "a → b → a", null where there is none. */
function circle(graph: ReadonlyMap<string, readonly string[]>): string | null {
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (name: string): string | null => {
    const at = path.indexOf(name);
    if (at !== -1) return [...path.slice(at), name].join(' → ');
    if (done.has(name)) return null;
    path.push(name);
    for (const next of graph.get(name) ?? []) {
      const found = walk(next);
      if (found !== null) return found;
    }
    path.pop();
    done.add(name);
    return null;
  };
  for (const name of graph.keys()) {
    const found = walk(name);
    if (found !== null) return found;
  }
  return null;
}

test('every file stands in a room of the table, and only three at the root', () => {
  const paths = [...sources.keys()];
  expect(paths.length).toBeGreaterThan(300);
  expect(paths.filter((path) => rooms[roomOf(path)] === undefined)).toEqual([]);
  expect(paths.filter((path) => /^src\/[^/]+$/.test(path))).toEqual(rootFiles);
});

test('a room imports only rooms below it, types included', () => {
  expect(edges.length).toBeGreaterThan(1000);
  const forbidden = edges.filter(({ from, to }) => {
    const [a, b] = [roomOf(from), roomOf(to)];
    return a !== b && !rooms[a]?.includes(b);
  });
  const sentences = forbidden.map(
    ({ from, to }) =>
      `${from} imports ${to}: ${roomOf(from)} may not import ${roomOf(to)}. ` +
      'Move what both need below, or hand it in; the allowed edges stand in test/house/rooms.ts.',
  );
  expect(sentences).toEqual([]);
});

test('the pure decision and the browser scripts import even less', () => {
  const forbidden = edges.flatMap(({ from, to }) => {
    const folder = Object.keys(narrower).find((prefix) => from.startsWith(prefix));
    if (folder === undefined || narrower[folder]?.some((prefix) => to.startsWith(prefix))) return [];
    return [`${from} imports ${to}: ${folder} may import ${narrower[folder]?.join(', ')} only.`];
  });
  expect(forbidden).toEqual([]);
});

test('rooms do not depend on each other in a circle', () => {
  expect(circle(new Map(Object.entries(rooms)))).toBe(null);
});

test('files do not import each other in a circle, types included', () => {
  const graph = new Map([...sources.values()].map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  expect(circle(graph)).toBe(null);
});
