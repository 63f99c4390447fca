import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import type { Role } from '../../src/shell/context.ts';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { origin, signInAs, type TestUser } from '../dashboard/support.ts';
import { routesOf } from '../support/routes.ts';
import { timeLimit } from '../support/time-limit.ts';
import { readOperations } from './open-api.ts';

/**
 * Authorisation: every operation of the API reference with every kind of key, and every page with every role, for two
 * publishers. The snapshot contains the resulting tables. When you add an operation or a page, check there who may use
 * it.
 */

const permissions = [
  ...['accounts', 'ads/offers', 'configurations', 'offers/approval', 'offers/management', 'reports', 'wallet'],
] as const;
const unknownId = '999999';
const minutesMs = timeLimit(120_000);

let t: ManagementApp;
let ann: Caller;
let bob: Caller;
/** ID of one advertiser of each publisher. */
let advertisers: Record<'ann' | 'bob', number>;
beforeAll(async () => {
  t = await createManagementApp();
  ann = await t.caller(await t.addPublisher());
  bob = await t.caller(await t.addPublisher());
  const advertiserOf = async (caller: Caller): Promise<number> =>
    (await caller.call('POST', '/advertisers', { name: 'Advertiser' })).body.data.id as number;
  advertisers = { ann: await advertiserOf(ann), bob: await advertiserOf(bob) };
});
afterAll(() => t?.close());

type PageResponse = { status: number; text: string; location: string };

let addresses = 0;

/** Sends a request from a new client address each time, because the failure limit is not tested here. */
async function ask(
  method: string,
  url: string,
  headers: Record<string, string>,
  body?: object | string,
): Promise<PageResponse> {
  const remoteAddress = `10.${++addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`;
  const answer = await t.app.inject({
    method: method as 'GET',
    url,
    headers,
    remoteAddress,
    payloadAsStream: true,
    ...(body !== undefined && { payload: body }),
  });
  const stream = answer.stream();
  // An event stream never ends.
  const isEndless = String(answer.headers['content-type']).startsWith('text/event-stream');
  const read = isEndless ? '' : await text(stream);
  stream.destroy();
  return { status: answer.statusCode, text: read, location: String(answer.headers.location ?? '') };
}

const withIds = (path: string, publisherId: number): string =>
  path
    .replace('/p/:publisherId', `/p/${publisherId}`)
    .replace('/a/:advertiserId', `/a/${advertisers.ann}`)
    .replaceAll(/\{[^}]*\}|:\w+/g, unknownId);

describe('an API operation', () => {
  const operations = readOperations().filter(({ takesKey }) => takesKey);
  const call = (key: string | null, { method, path, takesCsv }: (typeof operations)[number], query = '') => {
    const payload = takesCsv ? 'id\n' : {};
    const headers = {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(takesCsv && { 'content-type': 'text/csv' }),
    };
    return ask(method, withIds(path, ann.publisherId) + query, headers, method === 'GET' ? undefined : payload);
  };
  async function keyWith(body: object, caller = ann): Promise<string> {
    const created = await t.operator.call('POST', `/keys?publisher_id=${caller.publisherId}`, { name: 'x', ...body });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    return created.body.data.key as string;
  }

  test(
    '401: rejects calls without a key or with an unknown, revoked or expired key',
    async () => {
      const revoked = await keyWith({ permissions: ['reports', 'configurations'] });
      const expired = await keyWith({ permissions: ['reports', 'configurations'] });
      const stop =
        "update api_keys set revoked_at = now() where name = 'x' and id = (select max(id) - 1 from api_keys)";
      await t.pool.query(stop);
      await t.pool.query('update api_keys set expires_at = now() where id = (select max(id) from api_keys)');
      await t.deps.catalog.refresh();
      const open: string[] = [];
      for (const operation of operations)
        for (const key of [null, 'pk_unknown', revoked, expired])
          if ((await call(key, operation)).status !== 401) open.push(operation.operationId);
      expect(open).toEqual([]);
    },
    minutesMs,
  );

  test(
    '403: accepts only keys with a permission that the table lists for it',
    async () => {
      const admitted = new Map<string, string[]>(operations.map(({ operationId }) => [operationId, []]));
      for (const permission of permissions) {
        const key = await keyWith({ permissions: [permission] });
        for (const operation of operations) {
          const { status, text: body } = await call(key, operation);
          expect(status, `${operation.operationId} by ${permission}`).not.toBe(401);
          expect(status, `${operation.operationId} by ${permission}: ${body}`).not.toBe(500);
          const isRefused = status === 403 && /does not have the permission|operator/.test(body);
          if (!isRefused) admitted.get(operation.operationId)?.push(permission);
        }
      }
      const table = [...admitted].map(([operationId, by]) => `${operationId}: ${by.join(', ') || 'nobody'}`);
      expect(table.sort()).toMatchSnapshot();
    },
    minutesMs,
  );

  test(
    '403: changes nothing when called with a read-only key',
    async () => {
      const key = await keyWith({ permissions: permissions.slice(1), read_only: true });
      const table: string[] = [];
      for (const operation of operations) {
        const { status, text: body } = await call(key, operation);
        const isOpen = !(status === 403 && body.includes('This API key is read-only'));
        // List only operations that do not follow from the HTTP method.
        if (isOpen !== (operation.method === 'GET'))
          table.push(`${operation.operationId}: ${isOpen ? 'reads' : 'writes'}`);
      }
      expect(table.sort()).toMatchSnapshot();
    },
    minutesMs,
  );

  test(
    "404: cannot act on another publisher's rows, and does not reveal whether they exist",
    async () => {
      const managed = operations.filter(({ path }) => path.startsWith('/manage/'));
      const differing: string[] = [];
      for (const operation of managed) {
        const [theirs, nobodys] = [
          await call(ann.key, operation, `?publisher_id=${bob.publisherId}`),
          await call(ann.key, operation, `?publisher_id=${unknownId}`),
        ];
        const withoutId = ({ status, text: body }: PageResponse): string =>
          `${status} ${body.replace(/"request_id":"[^"]*"/, '').replaceAll(String(bob.publisherId), unknownId)}`;
        if (withoutId(theirs) !== withoutId(nobodys) || theirs.status < 400) differing.push(operation.operationId);
      }
      expect(differing).toEqual([]);
    },
    minutesMs,
  );
});

describe('a dashboard page', () => {
  const roles = ['analyst', 'manager', 'admin', 'operator'] as const satisfies readonly Role[];
  const pages = () => routesOf(t.app).filter(({ path, method }) => isPage(path) && /^(GET|POST)$/.test(method));
  const isPage = (path: string): boolean => /^\/dashboard(\/|$)/.test(path) && !path.includes('*');
  const roleDenied = 'Your role does not allow this';

  const submit = (url: string, cookie: string, csrf = ''): Promise<PageResponse> => {
    const headers = { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' };
    return ask('POST', url, headers, new URLSearchParams({ _csrf: csrf }).toString());
  };

  /** Each request gets a new session, because some requests end the session. */
  type Page = { method: string; path: string };
  const visit = async (role: Role, publisherId: number | null, page: Page): Promise<PageResponse> =>
    visitAs(await signInAs(t, role, role === 'operator' ? null : publisherId), page);

  const advertiserOf = (advertiserId: number) => signInAs(t, 'advertiser', null, advertiserId);

  async function visitAs(user: TestUser, { method, path }: Page): Promise<PageResponse> {
    const url = withIds(path, ann.publisherId);
    if (method === 'GET') return ask('GET', url, { cookie: user.cookie });
    return submit(url, user.cookie, csrfTokenOf(user.cookie.split('=')[1] ?? ''));
  }

  test(
    '303: redirects to sign-in without a session, except for the listed public pages',
    async () => {
      const open: string[] = [];
      for (const { method, path } of pages()) {
        const url = withIds(path, ann.publisherId);
        const { location } = method === 'GET' ? await ask('GET', url, {}) : await submit(url, '');
        if (!location.startsWith('/dashboard/sign-in')) open.push(`${method} ${path}`);
      }
      expect(open.sort()).toMatchSnapshot();
    },
    minutesMs,
  );

  test(
    '403: opens for the roles in the table, and each role includes the lower ones',
    async () => {
      const table: string[] = [];
      for (const page of pages().filter(({ path }) => !path.startsWith('/dashboard/a/'))) {
        const may: boolean[] = [];
        for (const role of roles) {
          const { status, text: body } = await visit(role, ann.publisherId, page);
          expect(status, `${page.method} ${page.path} by ${role}: ${body.slice(0, 400)}`).not.toBe(500);
          may.push(!(status === 403 && body.includes(roleDenied)));
        }
        const first = may.indexOf(true);
        expect(may.slice(first), `${page.method} ${page.path}`).not.toContain(false);
        table.push(`${page.method} ${page.path}: ${roles[first] ?? 'nobody'}`);
      }
      expect(table.sort()).toMatchSnapshot();
    },
    4 * minutesMs,
  );

  test(
    '403: opens for a custom role according to its permissions only',
    async () => {
      const roleWith = async (permission: string) => {
        const { body } = await ann.call('POST', '/roles', { name: permission, permissions: [permission] });
        return { id: body.data.id as number, name: permission, permissions: [permission] };
      };
      const pagesOf = pages().filter(({ path }) => path.startsWith('/dashboard/p/'));
      const refused: string[] = [];
      for (const permission of ['configurations', 'offers/approval', 'offers/management']) {
        const role = await roleWith(permission);
        for (const page of pagesOf) {
          const { status, text: body } = await visitAs(await signInAs(t, role, ann.publisherId), page);
          expect(status, `${page.method} ${page.path} by ${permission}: ${body.slice(0, 400)}`).not.toBe(500);
          const isRefused = status === 403 && body.includes(roleDenied);
          if (isRefused) refused.push(`${page.method} ${page.path}: not by ${permission}`);
        }
      }
      expect(refused.sort()).toMatchSnapshot();
    },
    4 * minutesMs,
  );

  test(
    "404: a publisher's page is not found by an admin of another publisher",
    async () => {
      const open: string[] = [];
      for (const page of pages().filter(({ path }) => path.startsWith('/dashboard/p/'))) {
        const { status } = await visit('admin', bob.publisherId, page);
        if (status !== 404) open.push(`${page.method} ${page.path}`);
      }
      expect(open).toEqual([]);
    },
    minutesMs,
  );

  test(
    "404: an advertiser's page opens only for that advertiser's accounts and for operators",
    async () => {
      const open: string[] = [];
      for (const page of pages().filter(({ path }) => path.startsWith('/dashboard/a/'))) {
        const answers = [
          await visit('admin', ann.publisherId, page),
          await visitAs(await advertiserOf(advertisers.bob), page),
        ];
        if (answers.some(({ status }) => status !== 404)) open.push(`${page.method} ${page.path}`);
        const isList = page.method === 'GET' && /:\w+$/.test(page.path) && !/:\w+.*:\w+/.test(page.path);
        if (!isList) continue;
        expect((await visitAs(await advertiserOf(advertisers.ann), page)).status, page.path).toBe(200);
        expect((await visit('operator', null, page)).status, page.path).toBe(200);
      }
      expect(open).toEqual([]);
    },
    minutesMs,
  );

  test(
    "404: a publisher's page is not found by an advertiser",
    async () => {
      const open: string[] = [];
      for (const page of pages().filter(({ path }) => path.startsWith('/dashboard/p/'))) {
        const { status } = await visitAs(await advertiserOf(advertisers.ann), page);
        if (status !== 404) open.push(`${page.method} ${page.path}`);
      }
      expect(open).toEqual([]);
    },
    minutesMs,
  );

  test(
    "403: rejects a form without the session's CSRF token",
    async () => {
      const { cookie } = await signInAs(t, 'operator');
      const open: string[] = [];
      for (const { method, path } of pages()) {
        if (method !== 'POST' || /^\/dashboard\/(sign-in|start)/.test(path)) continue;
        const { status } = await submit(withIds(path, ann.publisherId), cookie);
        if (status !== 403) open.push(path);
      }
      expect(open).toEqual([]);
    },
    minutesMs,
  );
});
