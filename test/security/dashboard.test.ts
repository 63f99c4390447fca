import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { postForm, signInAs, type TestUser } from '../dashboard/support.ts';
import { addTenant, type Tenant } from '../isolation/tenant.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { hostileTexts } from './arbitraries.ts';

type Form = { action: string; fields: Record<string, string> };

let t: TestApp;
let tenant: Tenant;
let operator: TestUser;
const pages = new Set<string>();
const forms = new Map<string, Form>();

/** Returns a page's path without its IDs: paths that differ only in IDs count as one page. */
const kindOf = (path: string): string => path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\b\d+\b/g, '#').replace(/\?.*$/, '');

/** Follows links to every page, and collects all forms. */
async function crawl(): Promise<void> {
  const kinds = new Set<string>();
  const queue = [`/dashboard/p/${tenant.publisherId}/overview`, '/dashboard'];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const { body, headers } = await operator.get(path);
    pages.add(path);
    const links = [...body.matchAll(/(?:href|hx-get|src)="(\/dashboard[^"]*)"/g)].map(([, link = '']) => link);
    for (const link of [...links, ...[headers.location].flat()]) {
      const clean = String(link ?? '')
        .replaceAll('&amp;', '&')
        .replace(/#.*$/, '');
      if (!clean.startsWith('/dashboard') || /assets|\.(js|css|svg)|live/.test(clean) || kinds.has(kindOf(clean)))
        continue;
      if (/\/p\/\d+/.test(clean) && !clean.startsWith(`/dashboard/p/${tenant.publisherId}/`)) continue;
      kinds.add(kindOf(clean));
      queue.push(clean);
    }
    for (const [, attributes = '', inside = ''] of body.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)) {
      const action = /action="([^"]*)"/.exec(attributes)?.[1] ?? path;
      if (!/method="post"/.test(attributes) || forms.has(kindOf(action))) continue;
      const names = [...inside.matchAll(/<(?:input|select|textarea)[^>]*?name="([^"]+)"(?:[^>]*?value="([^"]*)")?/g)];
      forms.set(kindOf(action), {
        action,
        fields: Object.fromEntries(names.map(([, name = '', value = '']) => [name, value])),
      });
    }
  }
}

beforeAll(async () => {
  t = await createTestApp();
  tenant = await addTenant(t, 'Fuzz');
  operator = await signInAs(t, 'operator');
  await crawl();
});
afterAll(() => t?.close());

/** Markup that must never result from user input. */
const liveMarkup = /<script>alert|<img src=x|onerror=alert\(1\)>/;
const internals = /\n\s+at |node_modules|node:internal|\bsyntax error\b|pg_catalog/;

test('the crawl finds the pages and forms', () => {
  expect(pages.size).toBeGreaterThan(25);
  expect(forms.size).toBeGreaterThan(20);
});

test('opening a page changes nothing', async () => {
  const state = async () =>
    (
      await t.pool.query(
        'select (select count(*) from audit_log) as changes, (select version from catalog_version) as version',
      )
    ).rows;
  const before = await state();
  for (const path of pages) expect((await operator.get(path)).statusCode, path).toBeLessThan(400);
  expect(await state()).toEqual(before);
});

test('a form without its CSRF token, or from an analyst, gets 403', async () => {
  const analyst = await signInAs(t, 'analyst', tenant.publisherId);
  for (const { action, fields } of forms.values()) {
    const { _csrf, ...others } = fields;
    expect((await postForm(t, action, others, { cookie: operator.cookie })).statusCode, action).toBe(403);
    // Skip actions on an analyst's own data, such as saved reports and alerts.
    if (!/account|sign-out|\/reports\/saved|\/alerts\/(read|rules|mail|mail-test)$/.test(action))
      expect([403, 404], action).toContain((await analyst.post(action, others)).statusCode);
  }
});

// Long timeout: every page is fuzzed.
test('no input in forms and URLs breaks a page or becomes markup', { timeout: timeLimit(240_000) }, async () => {
  const text = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...hostileTexts) },
    fc.string({ unit: 'binary', maxLength: 40 }),
  );
  for (const { action, fields } of [...forms.values()].filter((form) => !/sign-out|account/.test(form.action))) {
    const { _csrf, ...own } = fields;
    const typed = fc.record(
      Object.fromEntries(Object.entries(own).map(([name, value]) => [name, fc.oneof(fc.constant(value), text)])),
    );
    await fc.assert(
      fc.asyncProperty(typed, async (values) => {
        const answer = await operator.post(action, values);
        expect(answer.statusCode, `${action} ${answer.body}`).toBeLessThan(500);
        expect(answer.body, action).not.toMatch(liveMarkup);
        expect(answer.body, action).not.toMatch(internals);
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 4) },
    );
  }
  for (const path of pages)
    for (const hostile of [
      '%00',
      '%ff',
      '-1',
      '99999999999999999999',
      '%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E',
      '__proto__',
    ]) {
      const names = [
        'cursor',
        'status',
        'event',
        'from',
        'to',
        'q',
        'limit',
        'session_id',
        'pub_user_id',
        'campaign_id',
        'days',
        'period',
      ];
      const urls = [
        `${path.split('?')[0]}?${names.map((name) => `${name}=${hostile}`).join('&')}`,
        path.replace(/[^/]+$/, hostile),
      ];
      for (const url of urls) {
        const answer = await operator.get(url);
        expect(answer.statusCode, `${url} ${answer.body}`).toBeLessThan(500);
        expect(answer.body, url).not.toMatch(liveMarkup);
      }
    }
  // Accepted input is displayed on the pages.
  for (const path of pages) expect((await operator.get(path)).body, path).not.toMatch(liveMarkup);
});

test('the search finds nothing of another publisher for any query', async () => {
  const other = await addTenant(t, 'Elsewhere');
  await t.deps.catalog.refresh();
  const { rows } = await t.pool.query<{ id: string }>('select id from deliveries where publisher_id = $1 limit 1', [
    other.publisherId,
  ]);
  const admin = await signInAs(t, 'admin', tenant.publisherId);
  const find = async (user: TestUser, publisherId: number, text: string) =>
    user.get(`/dashboard/p/${publisherId}/find?q=${encodeURIComponent(text)}&section=/reports`);
  const delivery = rows[0]?.id ?? '';
  for (const text of [
    'else',
    String(other.publisherId),
    delivery,
    ...hostileTexts.filter((hostileText) => hostileText.isWellFormed()),
  ]) {
    const { statusCode, body } = await find(admin, tenant.publisherId, text);
    expect([statusCode, text]).toEqual([200, text]);
    expect(body).not.toContain(`/p/${other.publisherId}/`);
    expect(body).not.toMatch(liveMarkup);
    expect(body).not.toContain('Elsewhere');
  }
  expect((await find(admin, other.publisherId, 'x')).statusCode).toBe(404);
  expect((await find(operator, other.publisherId, delivery)).body).toContain(`/deliveries/${delivery}`);
  const switched = await find(operator, tenant.publisherId, 'Elsewhere');
  expect(switched.body).toContain(`href="/dashboard/p/${other.publisherId}/reports"`);
});
