import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashKey } from '../../src/platform/http/auth.ts';
import { addTenant, type Tenant } from '../isolation/tenant.ts';
import { readApiDescription } from '../support/api-description.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { type Schema, sensible, whatever } from './arbitraries.ts';

type Parameter = { name: string; in: 'path' | 'query' | 'header'; schema: Schema };
type Operation = { parameters?: Parameter[]; requestBody?: { content: Record<string, { schema: Schema }> } };

const description = readApiDescription<{ paths: Record<string, Record<string, Operation>> }>();
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
);

/** Number of runs per property. FUZZ_RUNS=500 runs a longer search. */
const runs = Number(process.env.FUZZ_RUNS ?? 8);

let t: TestApp;
let tenant: Tenant;
let key: string;
let calls = 0;
beforeAll(async () => {
  t = await createTestApp();
  tenant = await addTenant(t, 'Fuzz');
  key = randomBytes(12).toString('hex');
  await t.pool.query(
    "insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'All', decode($2, 'hex'), $3)",
    [tenant.publisherId, hashKey(key), t.contributions.permissions.map(({ name }) => name)],
  );
  await t.deps.catalog.refresh();
});
afterAll(() => t?.close());

const ownIdOf = (path: string, name: string): string | undefined =>
  tenant.ids[name === 'id' ? (/\/([\w-]+)\/\{id\}/.exec(path)?.[1] ?? '') : name];

/** Generates a request for an operation. It mostly matches the schemas, with some hostile values. */
function requestOf(path: string, { parameters = [], requestBody }: Operation) {
  const value = ({ name, in: place, schema }: Parameter): fc.Arbitrary<unknown> => {
    const own = place === 'path' ? ownIdOf(path, name) : name === 'pub_user_id' ? tenant.user : undefined;
    const fitting = own === undefined ? sensible(schema) : fc.constant(own);
    return fc.oneof({ weight: 3, arbitrary: fitting }, { weight: 2, arbitrary: whatever });
  };
  const inPlace = (place: string, optional: boolean) => {
    const matches = parameters.filter(
      (parameter) => parameter.in === place && parameter.name !== 'api_key' && parameter.name !== 'publisher_id',
    );
    return fc.record(
      Object.fromEntries(matches.map((parameter) => [parameter.name, value(parameter)])),
      optional ? { requiredKeys: [] } : {},
    );
  };
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  return fc.record({
    params: inPlace('path', false),
    query: inPlace('query', true),
    body:
      schema === undefined
        ? fc.constant(undefined)
        : fc.oneof({ weight: 9, arbitrary: sensible(schema) }, { weight: 1, arbitrary: whatever }),
  });
}

const encode = (value: unknown): string =>
  encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed());

function urlOf(path: string, params: Record<string, unknown>, query: Record<string, unknown>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encode(name in params ? params[name] : (tenant.ids[name] ?? '1')),
  );
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => `${name}=${encode(item)}`),
  );
  return `${filled}?${pairs.join('&')}`.slice(0, 7000);
}

describe('any input gets a response without internal errors or internal details', () => {
  test.each(operations)('$method $path', async ({ method, path, operation }) => {
    await fc.assert(
      fc.asyncProperty(requestOf(path, operation), async ({ params, query, body }) => {
        calls += 1;
        const answer = await t.app.inject({
          method: method.toUpperCase() as 'GET',
          url: urlOf(path, params as Record<string, unknown>, query as Record<string, unknown>),
          headers: {
            authorization: `Bearer ${key}`,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          // Each call has a different client address, because the failure limit is not tested here.
          remoteAddress: `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`,
          ...(body !== undefined && { payload: JSON.stringify(body) }),
          payloadAsStream: true,
        });
        const isEndless = String(answer.headers['content-type']).startsWith('text/event-stream');
        if (isEndless) answer.stream().destroy();
        const sent = isEndless ? '' : await text(answer.stream());
        expect(answer.statusCode, sent).toBeLessThan(500);
        expect(sent).not.toMatch(/\n\s+at |node_modules|node:internal|\bsyntax error\b|pg_catalog/);
      }),
      { numRuns: runs, endOnFailure: false },
    );
  });
});
