import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '../../src/commands.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { listFiles, readText } from './source.ts';
import { tables } from './tables.ts';

/** Tables by name, with the SQL text of their columns. */
const columns = new Map(
  listFiles('migrations/', /\.sql$/).flatMap((path) =>
    [...readText(path).matchAll(/^create (?:unlogged )?table (\w+) \(([\s\S]*?)^\)([^;]*);/gm)].map(
      ([, name = '', body = '', rest = '']) => [name, { body, isPartitioned: /partition by/.test(rest) }] as const,
    ),
  ),
);

const ownersOf = (matches: (name: string) => boolean): readonly string[] =>
  [...new Set([...columns.keys()].filter(matches).map((name) => tables[name]?.owner ?? name))].sort();

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ demo: true });
});
afterAll(() => t?.close());

const modulesWith = (member: 'retention' | 'userData'): ReadonlySet<string> =>
  new Set(t.contributions.modules.filter((module) => module[member] !== undefined).map(({ name }) => name));

test('a module with user data contributes the steps that erase and export it', () => {
  const expectedModules = ownersOf((name) =>
    /^\s*(pub_user_id|user_key|ad_fp|session_id)\b/m.test(columns.get(name)?.body ?? ''),
  );
  expect(expectedModules.length).toBeGreaterThan(4);
  const has = modulesWith('userData');
  expect(expectedModules.filter((module) => !has.has(module) && !exempt.has(module))).toEqual([]);
});

/**
 * Modules whose rows identify a user only as long as an erasure, a request or a count needs them (see each module's
 * retention).
 */
const exempt: ReadonlySet<string> = new Set(['privacy', 'reports']);

test('a module with a table partitioned by day contributes its retention', () => {
  const expectedModules = ownersOf((name) => columns.get(name)?.isPartitioned === true);
  expect(expectedModules.length).toBeGreaterThan(4);
  const has = modulesWith('retention');
  expect(expectedModules.filter((module) => !has.has(module))).toEqual([]);
});

test('the command line lists exactly the commands that modules contribute', () => {
  const handedIn = t.contributions.commands.map(({ name }) => name);
  expect(handedIn.length).toBeGreaterThan(8);
  const others = ['start', 'doctor', 'secrets status', 'secrets reseal', 'completion'];
  expect([...handedIn, ...others].sort()).toEqual(commands.map(({ name }) => name).sort());
});
