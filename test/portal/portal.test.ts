import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse as Response } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { hashKey } from '../../src/platform/http/auth.ts';
import { hourMs } from '../../src/platform/lib/time.ts';
import { createToken } from '../../src/platform/security/random-token.ts';
import { postForm, signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { createParts, deliveryOf, payloadOf } from '../webhooks/dispatcher/support.ts';
import { addManager, type Manager } from '../webhooks/endpoints/manager.ts';

let t: TestApp;
let nowMs = Date.now();
let me: Manager;
const { hook, end } = createParts(() => t);
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
});
beforeEach(async () => {
  nowMs = Date.now();
  me = await addManager(t);
});
afterEach(end);
afterAll(() => t.close());

const frame_origin = 'https://admin.example';

type Opened = { id: string; cookie: string; csrf: string; start: string; opening: Response };

const create = async (fields: object, by: Manager = me): Promise<Response> =>
  by.call('POST', '/portal-links', { frame_origin, permissions: ['deliveries'], ...fields });

const pathOf = (url: string): string => new URL(url).pathname;

/** Creates a link and opens it. */
async function open(fields: object = {}, by: Manager = me): Promise<Opened> {
  const created = await create(fields, by);
  expect(created.statusCode, created.body).toBe(201);
  const { id, url } = created.json().data as { id: string; url: string };
  const opening = await t.app.inject({ url: pathOf(url) });
  const [cookie = ''] = String(opening.headers['set-cookie']).split(';');
  const token = cookie.slice(cookie.indexOf('=') + 1);
  return { id, cookie, csrf: csrfTokenOf(token), start: String(opening.headers.location), opening };
}

const get = ({ cookie }: Opened, path: string) => t.app.inject({ url: path, headers: { cookie } });
const post = ({ cookie, csrf }: Opened, path: string, fields: Record<string, string> = {}) =>
  postForm(t, path, { _csrf: csrf, ...fields }, { cookie });

async function heldDelivery(of: Manager = me): Promise<string> {
  const shop = await hook();
  await of.endpoint(shop.url);
  return of.enqueueDelivery({ payload: payloadOf() });
}

test('a link shows the deliveries of the publisher in a frame of the named website only', async () => {
  const delivery = await heldDelivery();
  const portal = await open({ theme: { accent_color: '#aa0044', logo_url: 'https://admin.example/logo.svg' } });
  expect(portal.opening.statusCode).toBe(303);
  expect(portal.opening.headers['referrer-policy']).toBe('no-referrer');
  const attributes = String(portal.opening.headers['set-cookie']);
  for (const attribute of ['HttpOnly', 'Secure', 'SameSite=None', 'Partitioned', `Path=/portal/${portal.id}`])
    expect(attributes).toContain(attribute);
  expect(portal.start).toBe(`/portal/${portal.id}/deliveries`);
  const page = await get(portal, portal.start);
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-security-policy']).toContain(`frame-ancestors ${frame_origin}`);
  expect(page.headers['x-frame-options']).toBeUndefined();
  expect(page.body).toContain(`/portal/${portal.id}/deliveries/${delivery}`);
  expect(page.body).toContain('https://admin.example/logo.svg');
  expect(page.body).not.toContain('/dashboard/p/');
  expect((await get(portal, `/portal/${portal.id}/theme.css`)).body).toContain('--accent: #aa0044');
  expect((await get(portal, `${portal.start}/${delivery}`)).body).toContain('“Offer” 7');
});

test('a link works once, for at most an hour, and not after HEAD requests or with guesses', async () => {
  const { id, url } = (await create({})).json().data as { id: string; url: string };
  expect((await t.app.inject({ method: 'HEAD', url: pathOf(url) })).statusCode).toBe(405);
  const first = await t.app.inject({ url: pathOf(url) });
  expect(first.statusCode).toBe(303);
  const second = await t.app.inject({ url: pathOf(url) });
  expect([second.statusCode, second.headers['set-cookie']]).toEqual([403, undefined]);
  expect(second.body).toContain('already been opened');
  expect((await t.app.inject({ url: `/portal/open/${'a'.repeat(43)}` })).statusCode).toBe(404);
  expect((await t.app.inject({ url: `/portal/${id}/deliveries` })).statusCode).toBe(403);
  expect((await create({ expires_in: 3601 })).statusCode).toBe(400);
});

test('a session ends after an hour, or with its link or API key, even in the middle of a form', async () => {
  const delivery = await heldDelivery();
  const permissions = ['deliveries/resend'];
  const resend = (portal: Opened) => post(portal, `/portal/${portal.id}/deliveries/${delivery}/replay`);
  const expired = await open({ permissions });
  expect((await resend(expired)).statusCode).toBe(303);
  nowMs += hourMs;
  const late = await resend(expired);
  expect(late.statusCode).toBe(403);
  expect(late.body).toContain('session has ended');
  expect(late.headers['content-security-policy']).toContain(`frame-ancestors ${frame_origin}`);
  nowMs = Date.now();

  const revoked = await open({ permissions });
  const other = await addManager(t);
  expect((await other.call('DELETE', `/portal-links/${revoked.id}`)).statusCode).toBe(404);
  expect((await get(revoked, revoked.start)).statusCode).toBe(200);
  expect((await me.call('DELETE', `/portal-links/${revoked.id}`)).statusCode).toBe(200);
  expect((await resend(revoked)).statusCode).toBe(403);
  expect((await get(revoked, revoked.start)).statusCode).toBe(403);
  expect((await me.call('DELETE', `/portal-links/${revoked.id}`)).statusCode).toBe(404);

  const orphan = await open({ permissions });
  const unopened = (await create({})).json().data.url as string;
  await t.pool.query('delete from api_keys where publisher_id = $1', [me.id]);
  await t.deps.catalog.refresh();
  expect((await get(orphan, orphan.start)).statusCode).toBe(403);
  expect((await t.app.inject({ url: pathOf(unopened) })).statusCode).toBe(403);
});

test('a session has only its permissions, and no other pages', async () => {
  const delivery = await heldDelivery();
  const at = (portal: Opened, path: string) => `/portal/${portal.id}${path}`;
  const reader = await open();
  const page = await get(reader, at(reader, `/deliveries/${delivery}`));
  expect(page.body).not.toContain('/replay');
  expect((await post(reader, at(reader, `/deliveries/${delivery}/replay`))).statusCode).toBe(403);
  expect((await post(reader, at(reader, '/deliveries/replay'), { status: 'all' })).statusCode).toBe(403);
  for (const path of ['/settings/webhooks/all', '/settings/webhooks/usp.selection', '/live', '/live/stream'])
    expect((await get(reader, at(reader, path))).statusCode, path).toBe(403);
  for (const path of ['/overview', '/offers', '/settings/keys', '/reports', '/..%2f..%2fdashboard'])
    expect(await get(reader, at(reader, path)), path).toMatchObject({
      statusCode: 404,
      headers: { 'content-type': expect.stringContaining('text/html') },
    });
  for (const path of ['/dashboard', `/dashboard/p/${me.id}/deliveries`])
    expect((await get(reader, path)).headers.location, path).toMatch(/sign-in/);

  const watcher = await open({ permissions: ['live'] });
  expect((await get(watcher, watcher.start)).body).not.toContain('/api-log');

  const viewer = await open({ permissions: ['endpoints'] });
  const own = at(viewer, '/settings/webhooks/usp.selection');
  expect((await get(viewer, own)).statusCode).toBe(200);
  expect((await post(viewer, own, { url: 'https://evil.example/', method: 'POST' })).statusCode).toBe(403);
  const editor = await open({ permissions: ['endpoints/edit'] });
  const edited = at(editor, '/settings/webhooks/usp.selection');
  expect((await get(editor, edited)).body).not.toContain('/rotate');
  expect((await post(editor, `${edited}/rotate`)).statusCode).toBe(403);
  expect((await post(editor, `${edited}/pause`)).statusCode).toBe(303);
});

test('an endpoint form that is sent twice creates one endpoint, and another portal creates its own', async () => {
  const fields = { kind: 'http', url: 'https://93.184.216.34/portal', events: 'usp.selection', method: 'POST' };
  const sent = { ...fields, enabled: 'on', _once: createToken() };
  const [first, other] = [
    await open({ permissions: ['endpoints/edit'] }),
    await open({ permissions: ['endpoints/edit'] }),
  ];
  for (const portal of [first, first, other])
    expect((await post(portal, `/portal/${portal.id}/settings/webhooks/new`, sent)).statusCode).toBe(200);
  expect((await t.pool.query("select from webhook_endpoints where url like '%/portal'")).rowCount).toBe(2);
});

test('foreign sessions, foreign rows and dashboard cookies open nothing', async () => {
  const other = await addManager(t);
  const foreign = await heldDelivery(other);
  const [mine, theirs] = [await open({ permissions: ['deliveries/resend'] }), await open({}, other)];
  expect((await get(mine, theirs.start)).statusCode).toBe(403);
  expect((await get({ ...mine, cookie: mine.cookie.replace(mine.id, theirs.id) }, theirs.start)).statusCode).toBe(403);
  expect((await get(mine, `${mine.start}/${foreign}`)).statusCode).toBe(404);
  expect((await post(mine, `${mine.start}/${foreign}/replay`)).statusCode).toBe(404);
  const admin = await signInAs(t, 'admin', me.id);
  expect((await admin.get(mine.start)).statusCode).toBe(403);
  expect((await create({ publisher_id: other.id })).statusCode).toBe(404);
});

test('the embedding website cannot submit forms of the portal', async () => {
  const delivery = await heldDelivery();
  const portal = await open({ permissions: ['deliveries/resend'] });
  const path = `${portal.start}/${delivery}/replay`;
  const headers = { cookie: portal.cookie, origin: frame_origin };
  expect((await postForm(t, path, { _csrf: portal.csrf }, headers)).statusCode).toBe(403);
  expect((await postForm(t, path, {}, { cookie: portal.cookie })).statusCode).toBe(403);
  expect((await postForm(t, path, { _csrf: 'x' }, { cookie: portal.cookie })).statusCode).toBe(403);
  const crossSite = { cookie: portal.cookie, 'sec-fetch-site': 'cross-site' };
  expect((await postForm(t, path, { _csrf: portal.csrf }, crossSite)).statusCode).toBe(403);
  expect((await deliveryOf(t, delivery)).attempts).toBe(0);
});

test('only keys with access create links, and origins and logos cannot add directives', async () => {
  const key = randomBytes(8).toString('hex');
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions)
    values ($1, 'reports', decode($2, 'hex'), '{reports}')`,
    [me.id, hashKey(key)],
  );
  await t.deps.catalog.refresh();
  const denied = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/portal-links',
    headers: { authorization: `Bearer ${key}` },
    payload: { frame_origin, permissions: ['deliveries'] },
  });
  expect(denied.statusCode).toBe(403);
  const origins = ['*', 'https://a.example/path', "https://a.example; script-src 'unsafe-inline'", 'http://a.example'];
  for (const origin of [...origins, 'https://a.example https://b.example', 'javascript:alert(1)', 'null'])
    expect((await create({ frame_origin: origin })).statusCode, origin).toBe(400);
  expect((await create({ permissions: [] })).statusCode).toBe(400);
  expect((await create({ permissions: ['accounts'] })).statusCode).toBe(400);
  expect((await create({ theme: { accent_color: 'red;}' } })).statusCode).toBe(400);
  expect((await create({ theme: { logo_url: 'javascript:alert(1)' } })).statusCode).toBe(400);
});

test('the audit log names the user of the portal', async () => {
  await me.endpoint('https://shop.example/');
  const portal = await open({ permissions: ['endpoints/edit'], user: 'ann@operator.example' });
  await post(portal, `/portal/${portal.id}/settings/webhooks/usp.selection/pause`);
  await me.call('DELETE', `/portal-links/${portal.id}`);
  const { rows } = await t.pool.query(
    'select actor_label, action, resource from audit_log where publisher_id = $1 order by id',
    [me.id],
  );
  expect(rows.slice(-4)).toEqual([
    { actor_label: 'test', action: 'create', resource: 'portal-links' },
    { actor_label: 'ann@operator.example (portal)', action: 'sign_in', resource: 'portal-links' },
    { actor_label: 'ann@operator.example (portal)', action: 'update', resource: 'webhook-endpoints' },
    { actor_label: 'test', action: 'remove', resource: 'portal-links' },
  ]);
});

test('pages are in the language that the link specifies', async () => {
  const portal = await open({ language: 'de' });
  expect((await get(portal, portal.start)).body).toContain('<html lang="de"');
});
