import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { routesOf } from '../support/routes.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { hostileTexts } from './arbitraries.ts';

/** Number of runs. FUZZ_RUNS=500 runs a longer search. */
const runs = Number(process.env.FUZZ_RUNS ?? 6);

let t: TestApp;
let operator: TestUser;
beforeAll(async () => {
  t = await createTestApp({ scripts: true });
  operator = await signInAs(t, 'operator');
  await operator.post('/dashboard/p/1/settings/sequence-rules', {
    effect: 'deny',
    'match.tags': 'nowhere',
    weight: '100',
  });
});
afterAll(() => t?.close());

const hostile = fc.constantFrom(...hostileTexts);
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

/** Query parameters that pages use. */
const queryNames = [
  'q',
  'cursor',
  'active',
  'advertiser_id',
  'campaign_id',
  'resource',
  'to',
  'next',
  'placement',
  'country',
  'custom',
  'day',
  'from',
  'until',
  'status',
  'event',
  'session_id',
  'pub_user_id',
  't',
  'save',
  'sdk_id',
  'limit',
  'category',
  'days',
  'sort',
  'endpoint',
  'id',
];

const fill = (path: string): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ weight: 4, arbitrary: fc.constant('1') }, { weight: 1, arbitrary: hostile }), {
      minLength: 4,
      maxLength: 4,
    })
    .map((values) => {
      let at = 0;
      return path
        .replace(':publisherId', '1')
        .replace(':endpoint', 'usp.selection')
        .replaceAll(/:\w+/g, () => encode(values[at++] ?? '1'));
    });

const query = fc.dictionary(fc.constantFrom(...queryNames), hostile, { maxKeys: 4 }).map((pairs) =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${encode(value)}`)
    .join('&'),
);

const isPage = ({ path }: { path: string }): boolean =>
  /^\/(dashboard|wallet|offerwall|privacy|demo)/.test(path) && !path.includes('*') && !path.endsWith('/stream');

describe('pages never respond with 5xx, whatever the input', () => {
  // Long timeout: every page is fuzzed.
  test('URLs', { timeout: timeLimit(120_000) }, async () => {
    for (const { path } of routesOf(t.app).filter((route) => route.method === 'GET' && isPage(route)))
      await fc.assert(
        fc.asyncProperty(fill(path), query, async (url, search) => {
          const answer = await operator.get(`${url}?${search}`.slice(0, 7000), { accept: 'text/html' });
          expect(answer.statusCode, `${url}?${search} ${answer.body}`).toBeLessThan(500);
        }),
        { numRuns: runs },
      );
  });

  // Long timeout: every form is fuzzed.
  test('forms', { timeout: timeLimit(120_000) }, async () => {
    const names = new Set<string>();
    for (const { path } of routesOf(t.app).filter((route) => route.method === 'GET' && isPage(route))) {
      const page = await operator.get(
        path.replace(':publisherId', '1').replace(':endpoint', 'usp.selection').replaceAll(/:\w+/g, '1'),
      );
      for (const [, name] of page.body.matchAll(/ name="([^"]+)"/g)) if (name !== '_csrf') names.add(name as string);
    }
    expect(names.size).toBeGreaterThan(80);
    const fields = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(hostile, fc.constantFrom('1', 'on', 'yes', 'allow', '2026-11-21')),
      {
        minKeys: 1,
        maxKeys: 30,
      },
    );
    const posts = routesOf(t.app).filter(
      (route) =>
        route.method === 'POST' && isPage(route) && !/sign-out|password|sign-in|account|test$/.test(route.path),
    );
    for (const { path } of posts)
      await fc.assert(
        fc.asyncProperty(fill(path), fields, async (url, typed) => {
          const answer = await operator.post(url, typed);
          expect(answer.statusCode, `${url} ${JSON.stringify(typed)} ${answer.body}`).toBeLessThan(500);
        }),
        { numRuns: runs },
      );
  });
});
