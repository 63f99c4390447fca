import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { problem } from '../../src/platform/problem.ts';
import { assemble } from '../../src/runtime/assemble.ts';
import type { Contributions, Module } from '../../src/runtime/module.ts';
import { jobsOf } from '../../src/runtime/run-jobs.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { createToys } from './toy-module.ts';

const firstSeed = Number(process.env.TEST_SEED);

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ demo: true });
});
afterAll(() => t?.close());

const assembled = (modules: readonly Module[]): Contributions =>
  assemble(modules, { ...t.contributions.http, auth: t.contributions.auth, now: t.deps.now });

function shuffled<T>(list: readonly T[], seed: number): T[] {
  const random = createRandom(seed);
  return list
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

/** Returns the contributions without functions that are recreated on each start. */
const comparable = (contributions: Contributions) => {
  const { http, management, events, ...others } = contributions;
  return {
    ...others,
    grantable: management.permissions,
    events: [...events],
    additions: Object.entries(http.additions).map(([kind, additions]) => ({
      kind,
      fields: Object.entries(additions?.fields ?? {}),
      filters: Object.keys(additions?.filters ?? {}),
    })),
    jobs: jobsOf(contributions, t.deps).map(({ name }) => name),
  };
};

test('the order of the module list does not affect what modules contribute', () => {
  const { modules } = t.contributions;
  const expected = comparable(t.contributions);
  expect(expected.additions.length).toBeGreaterThan(2);
  expect(expected.extensions.campaignCards.length).toBeGreaterThan(1);
  for (let seed = firstSeed; seed < firstSeed + 20; seed += 1)
    expect(comparable(assembled(shuffled(modules, seed))), `seed ${seed}`).toEqual(expected);
});

test('the order of the module list does not affect the API description', async () => {
  const contributions = assembled(shuffled(t.contributions.modules, firstSeed));
  const app = await buildApp({ contributions, deps: t.deps, serveApi: true });
  const [described, expected] = await Promise.all([app.inject('/docs/json'), t.app.inject('/docs/json')]);
  await app.close();
  expect(described.body.length).toBeGreaterThan(100_000);
  expect(described.body === expected.body, `seed ${firstSeed}`).toBe(true);
});

test('every module has a unique rank', () => {
  const ranks = t.contributions.modules.map(({ rank }) => rank);
  expect(new Set(ranks).size).toBe(ranks.length);
});

describe('two modules with the same contribution', () => {
  const toys = createToys([]);
  const additions = { fields: { age: {} as never }, read: async () => () => ({}), warn: async () => [] };
  const cases: readonly [key: string, Omit<Module, 'name' | 'rank'>][] = [
    ['permission toys', { permissions: toys.permissions ?? [] }],
    ['event type toy.made', { eventTypes: toys.eventTypes ?? [] }],
    ['navigation entry toys', { navigation: toys.navigation ?? [] }],
    ['command toys list', { commands: toys.commands ?? [] }],
    ['export toys', { userData: toys.userData ?? {} }],
    ['row addition toys.age', { rowAdditions: { toys: additions } }],
    ['page extension fetchFont', { extensions: { fetchFont: async () => ({ problem: problem('fileUnread') }) } }],
    ['contribution propose', { propose: async () => ({ id: 1, state: 'waiting' }) }],
    ['contribution perkStages', { perkStages: async () => ({ selected: 0, confirmed: 0, delivered: 0 }) }],
    ['contribution chatChannels', { chatChannels: { list: async () => [], post: async () => null } }],
    ['contribution examples', { examples: { keys: {}, values: {} } as never }],
  ];

  test.each(cases)('are rejected with an error that names both: %s', (key, contribution) => {
    const [first, second] = ['balls', 'kites'].map((name, rank) => ({ name, rank, ...contribution })) as [
      Module,
      Module,
    ];
    expect(() => assembled([second, first])).toThrow(`the modules balls and kites both contribute the ${key}`);
  });

  test('are rejected if they have the same name', () => {
    expect(() => assembled([toys, toys])).toThrow('the modules toys and toys both contribute the module toys');
  });
});
