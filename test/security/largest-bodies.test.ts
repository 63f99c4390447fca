import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { hashKey } from '../../src/platform/http/auth.ts';
import { origin, signInAs, type TestUser } from '../dashboard/support.ts';
import { addTenant, type Tenant } from '../isolation/tenant.ts';
import { readApiDescription } from '../support/api-description.ts';
import { longestTurnMs, slownessNow } from '../support/longest-turn.ts';
import { routesOf } from '../support/routes.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import type { Schema } from './arbitraries.ts';
import { inChunks, largestBodies, longTexts } from './largest-bodies.ts';

/*
 * Sends bodies to every operation and every form. They match its schema and are as large as its limit allows, and each
 * body has a different large value. event-loop.test.ts sends invalid bodies, files and imports.
 *
 * PRINT_TURNS=1 prints the calls with the longest event loop turns.
 */

type Operation = { operationId: string; requestBody?: { content: Record<string, { schema: Schema }> } };

/** Maximum event loop turn of a call, in milliseconds of CPU time on an idle machine. */
const maxTurnMs = 50;
const attempts = 5;
const kb = 1024;
const maxFormBytes = 512 * kb;
/** Maximum number of form fields, with room for the CSRF token. */
const maxFields = 990;
const tooMany = 'too many fields';

const description = readApiDescription<{ paths: Record<string, Record<string, Operation>> }>();
const examples = JSON.parse(
  readFileSync(new URL('../../assets/openapi/requests.json', import.meta.url), 'utf8'),
) as Record<string, { body?: unknown }>;
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { operationId, requestBody }]) => {
    const schema = requestBody?.content['application/json']?.schema;
    // A replaced row is checked by the same code as a new one.
    const isRepeated = schema === undefined || (method === 'put' && 'patch' in methods);
    return isRepeated ? [] : [{ method, path, schema, example: examples[operationId]?.body }];
  }),
);

let t: TestApp;
let tenant: Tenant;
let key: string;
let user: TestUser;
let calls = 0;
const turns: [ms: number, call: string][] = [];
beforeAll(async () => {
  t = await createTestApp();
  tenant = await addTenant(t, 'Large');
  key = randomBytes(12).toString('hex');
  await t.pool.query(
    "insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'All', decode($2, 'hex'), $3)",
    [tenant.publisherId, hashKey(key), t.contributions.permissions.map(({ name }) => name)],
  );
  await t.deps.catalog.refresh();
  user = await signInAs(t, 'operator');
});
afterAll(async () => {
  if (process.env.PRINT_TURNS === '1')
    for (const [ms, call] of turns.sort(([a], [b]) => b - a).slice(0, 30)) console.log(`${ms.toFixed(1)} ms  ${call}`);
  await t?.close();
});

const urlOf = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const kind = /\/([\w-]+)\/\{\w+\}/.exec(path)?.[1] ?? '';
    return tenant.ids[name === 'id' || name === 'key' ? kind : name] ?? '1';
  });

async function send(method: string, path: string, body: Buffer, headers = {}): Promise<number> {
  calls += 1;
  const reply = await t.app.inject({
    method: method.toUpperCase() as 'POST',
    url: urlOf(path),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    // Each call has a different client address, because the failure limit is not tested here.
    remoteAddress: `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`,
    payload: inChunks(body),
  });
  return reply.statusCode;
}

/** Returns the maximum body size of an operation, in bytes, rounded down to a power of two and at most 4 MB. */
async function limitOf(method: string, path: string): Promise<number> {
  let limit = 64 * kb;
  while (limit < 4096 * kb) {
    const status = await send(method, path, Buffer.from('{}'), { 'content-length': String(2 * limit) });
    if (status === 413) break;
    limit *= 2;
  }
  return limit;
}

/** Repeats a call until its longest turn is short. Returns the longest turn of the best attempt, in milliseconds. */
async function measure(call: string, run: () => Promise<unknown>): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts && bestMs > maxTurnMs / 2; attempt++) {
    const turnMs = await longestTurnMs(run);
    bestMs = Math.min(bestMs, turnMs <= maxTurnMs / 2 ? turnMs : turnMs / Math.max(1, slownessNow()));
  }
  turns.push([bestMs, call]);
  return bestMs;
}

describe('other requests are served while a call receives its largest body', () => {
  // Long timeout: some operations have sixty places that can be large.
  test.each(operations)('$method $path', { timeout: timeLimit(120_000) }, async (operation) => {
    const { method, path, schema, example } = operation;
    const limit = await limitOf(method, path);
    for (const { place, value } of largestBodies(schema, example, limit)) {
      const body = Buffer.from(JSON.stringify(value));
      const turnMs = await measure(`${method} ${path} ${place}`, () => send(method, path, body));
      expect(turnMs, place).toBeLessThan(maxTurnMs);
    }
  });

  // Long timeout: every form is sent several times.
  test('every form', { timeout: timeLimit(240_000) }, async () => {
    const pages = routesOf(t.app).filter(({ path }) => /^\/(dashboard|wallet|offerwall|privacy|demo)/.test(path));
    const pathOf = (path: string): string =>
      path
        .replace(':publisherId', String(tenant.publisherId))
        .replace(':endpoint', 'usp.selection')
        .replaceAll(/:\w+/g, '1');
    const names = new Set<string>();
    for (const { path } of pages.filter(({ method, path }) => method === 'GET' && !/\*|stream$/.test(path)))
      for (const [, name] of (await user.get(pathOf(path))).body.matchAll(/ name="([^"]+)"/g))
        names.add(name as string);
    names.delete('_csrf');
    expect(names.size).toBeGreaterThan(80);
    const csrf = `_csrf=${csrfTokenOf(user.cookie.split('=')[1] ?? '')}`;
    const room = maxFormBytes - 4 * kb;
    const fill = (text: string, bytes: number): string =>
      encodeURIComponent(text).repeat(Math.floor(bytes / encodeURIComponent(text).length));
    const perName = Math.floor(maxFields / names.size);
    const forms: [string, string][] = [
      [tooMany, Array.from({ length: room / 12 }, (_, index) => `f${index}=1`).join('&')],
      ['unknown fields', Array.from({ length: maxFields }, (_, index) => `f${index}=${fill('x', 500)}`).join('&')],
      ['repeated fields', [...names].map((name) => `${encodeURIComponent(name)}=1&`.repeat(perName)).join('')],
      ...Object.entries(longTexts).map(([name, text]): [string, string] => [
        name,
        [...names].map((field) => `${encodeURIComponent(field)}=${fill(text, room / names.size - 30)}`).join('&'),
      ]),
    ];
    for (const { path } of pages.filter(({ method, path }) => method === 'POST' && !/sign-out|account/.test(path)))
      for (const [what, fields] of forms) {
        const payload = `${csrf}&${fields}`.slice(0, maxFormBytes);
        const headers = { cookie: user.cookie, origin, 'content-type': 'application/x-www-form-urlencoded' };
        let status = 0;
        const turnMs = await measure(`POST ${path} ${what}`, async () => {
          ({ statusCode: status } = await t.app.inject({ method: 'POST', url: pathOf(path), headers, payload }));
        });
        expect(turnMs, `${path} ${what}`).toBeLessThan(maxTurnMs);
        if (what === tooMany) expect(status, path).toBeGreaterThanOrEqual(400);
      }
  });
});
