import { expect, test } from 'vitest';
import { moduleOf } from './modules.ts';
import { listFiles, readText, sources } from './source.ts';
import { tables } from './tables.ts';

const created = new Set(
  listFiles('migrations/', /\.sql$/).flatMap((path) =>
    [...readText(path).matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name = '']) => name),
  ),
);

type Use = { module: string; path: string; line: number; table: string; writes: boolean };

const writing = /\b(?:insert into|update(?: only)?|delete from|truncate(?: table)?|merge into|copy)\s+(\w+)/gi;
const reading = /\b(?:from|join|using)\s+(?:only\s+)?(\w+)/gi;

/** Tables mentioned in the SQL of the source files, found in their string literals. */
const uses: Use[] = [...sources.values()].flatMap(({ path, strings }) =>
  strings.flatMap(({ text, line }) => {
    const findUses = (pattern: RegExp, writes: boolean): Use[] =>
      [...text.matchAll(pattern)]
        .map(([, table = '']) => table.toLowerCase())
        .filter((table) => created.has(table))
        .map((table) => ({ module: moduleOf(path), path, line, table, writes }));
    return [...findUses(writing, true), ...findUses(reading, false)];
  }),
);

test('every table in the schema has an owner, and every owner has a table', () => {
  expect(created.size).toBeGreaterThan(30);
  expect(Object.keys(tables).sort()).toEqual([...created].sort());
});

test('every table has a comment', () => {
  const text = listFiles('migrations/', /\.sql$/)
    .map(readText)
    .join('\n');
  expect([...created].filter((name) => !new RegExp(`^comment on table ${name} is`, 'm').test(text))).toEqual([]);
});

/** `catalog-admin` edits the tables that `catalog` reads for requests, so it counts as the same owner. */
const ownerName = (module: string): string => (module === 'catalog-admin' ? 'catalog' : module);

test('a module writes tables of another only with a reason in the list of writers', () => {
  const writes = uses.filter((use) => use.writes);
  expect(writes.length).toBeGreaterThan(60);
  const foreign = writes.filter(({ module, table }) => tables[table]?.owner !== ownerName(module));
  const unexplained = foreign.filter(({ module, table }) => tables[table]?.writers?.[module] === undefined);
  expect(
    unexplained.map(
      ({ path, line, table, module }) =>
        `${path}:${line} writes ${table}, which ${tables[table]?.owner} owns: let ${tables[table]?.owner} export ` +
        `the statement as a function, and call or be handed that in ${module}.`,
    ),
  ).toEqual([]);
  const explained = Object.entries(tables).flatMap(([table, { writers = {} }]) =>
    Object.keys(writers).map((module) => ({ table, module })),
  );
  const isUsed = ({ table, module }: { table: string; module: string }): boolean =>
    foreign.some((use) => use.module === module && use.table === table);
  expect(explained.filter((entry) => !isUsed(entry))).toEqual([]);
  // Each exception is a statement that must change tables of two modules at the same time. A second statement would
  // cost a round trip.
  expect(explained.length).toBeLessThanOrEqual(2);
});

test('a module reads tables of another only with a reason in the list of readers', () => {
  const foreign = uses.filter(({ module, table, writes }) => !writes && tables[table]?.owner !== ownerName(module));
  const unexplained = foreign.filter(({ module, table }) => tables[table]?.readers?.[module] === undefined);
  expect(
    unexplained.map(
      ({ path, line, table, module }) =>
        `${path}:${line} reads ${table} of ${tables[table]?.owner}: ask ${tables[table]?.owner} for a function, or ` +
        `name ${module} with its reason in test/architecture/tables.ts.`,
    ),
  ).toEqual([]);
  const stale = Object.entries(tables).flatMap(([table, { readers = {} }]) =>
    Object.keys(readers)
      .filter((room) => !foreign.some((use) => use.module === room && use.table === table))
      .map((module) => `${module} no longer reads ${table}: remove it from test/architecture/tables.ts.`),
  );
  expect(stale).toEqual([]);
});
