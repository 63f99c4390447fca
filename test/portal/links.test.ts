import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { deleteOldLinks } from '../../src/portal/links.ts';
import { runCommand } from '../command-line/support.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addManager, type Manager } from '../webhooks/endpoints/manager.ts';

let t: TestApp;
let base: string;
let me: Manager;
let admin: TestUser;
let nowMs = Date.now();
const page = () => `/dashboard/p/${me.id}/settings/portal-links`;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  me = await addManager(t);
  admin = await signInAs(t, 'admin', me.id);
});
afterAll(() => t.close());

const frame_origin = 'https://admin.example';
const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const create = async (fields: object = {}) =>
  (await me.call('POST', '/portal-links', { frame_origin, permissions: ['deliveries'], ...fields })).json().data as {
    id: string;
    url: string;
  };
const listed = async (query = '') => (await me.call('GET', `/portal-links${query}`)).json();
const stateOf = async (id: string) =>
  (await listed()).data.find((link: { id: string }) => link.id === id)?.state as string | undefined;

describe('the list of portal links', () => {
  test('is empty at first, and leads to the form', async () => {
    const { body } = await admin.get(page());
    expect(textOf(body)).toContain('No portal links in the last 30 days');
    expect(body).toContain('name="frame_origin"');
    expect((await admin.get(page(), { 'accept-language': 'de' })).body).toContain('Keine Portal-Links');
  });

  test('says for whom a link was made, what it allows, and whether it was opened or revoked', async () => {
    const link = await create({ user: 'ann@shop.example', permissions: ['deliveries/resend'] });
    expect(await stateOf(link.id)).toBe('waiting');
    await t.app.inject(new URL(link.url).pathname);
    expect((await listed()).data[0]).toMatchObject({
      id: link.id,
      state: 'open',
      user: 'ann@shop.example',
      permissions: ['deliveries', 'deliveries/resend'],
      frame_origin,
      created_by: 'test',
      opened_at: new Date(nowMs).toISOString(),
    });
    const text = textOf((await admin.get(page())).body);
    expect(text).toMatch(/ann@shop\.example deliveries deliveries\/resend https:\/\/admin\.example In use/);
    // The token is not stored, so no list can contain it.
    expect(JSON.stringify(await listed())).not.toContain(new URL(link.url).pathname.split('/').at(-1));
  });

  test('contains revoked and expired links for 30 days', async () => {
    const revoked = await create();
    const answer = await admin.post(`${page()}/${revoked.id}/revoke`);
    expect(answer.statusCode).toBe(303);
    expect(await stateOf(revoked.id)).toBe('revoked');
    expect((await t.app.inject(new URL(revoked.url).pathname)).statusCode).toBe(403);
    const expired = await create({ expires_in: 60 });
    nowMs += hourMs;
    expect(await stateOf(expired.id)).toBe('expired');
    await deleteOldLinks(t.pool, nowMs + 29 * dayMs);
    expect(await stateOf(expired.id)).toBe('expired');
    await deleteOldLinks(t.pool, nowMs + 31 * dayMs);
    expect((await listed()).data).toEqual([]);
  });

  test('is split into pages', async () => {
    const links: { id: string }[] = [];
    for (let count = 0; count < 3; count += 1) {
      nowMs += 1000;
      links.push(await create());
    }
    const first = await listed('?limit=2');
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual([links[2]?.id, links[1]?.id]);
    const second = await listed(`?limit=2&cursor=${first.next_cursor}`);
    expect([second.data[0].id, second.next_cursor]).toEqual([links[0]?.id, null]);
  });
});

describe('an admin', () => {
  const fields = (keyId: number | string) => ({
    user: 'Ben',
    frame_origin: `${frame_origin}/`,
    permissions: 'endpoints',
    minutes: '5',
    key_id: String(keyId),
  });
  const keyOf = async ({ id }: { id: number }): Promise<number> =>
    (await t.pool.query('select id from api_keys where publisher_id = $1', [id])).rows[0].id;

  beforeAll(async () => {
    // Links of the same millisecond have no order.
    nowMs += 1000;
    // Creating links requires a recent sign-in.
    admin = await signInAs(t, 'admin', me.id);
  });

  test('creates a link on the page, which is shown once and can be opened', async () => {
    const { statusCode, body } = await admin.post(page(), fields(await keyOf(me)));
    expect([statusCode, textOf(body)]).toEqual([200, expect.stringContaining('Link created.')]);
    const [, path = ''] = /http:\/\/perks\.test(\/portal\/open\/[\w-]+)/.exec(body) ?? [];
    expect((await t.app.inject(path)).statusCode).toBe(303);
    const [link] = (await listed()).data;
    expect(link).toMatchObject({ user: 'Ben', permissions: ['endpoints'], created_by: admin.email, state: 'open' });
    expect((await admin.get(page())).body).not.toContain('/portal/open/');
  });

  test('cannot use the key of another publisher, or omit required fields', async () => {
    const other = await addManager(t);
    const foreign = await admin.post(page(), fields(await keyOf(other)));
    expect([foreign.statusCode, textOf(foreign.body)]).toEqual([422, expect.stringContaining('Select an API key.')]);
    const empty = await admin.post(page(), { ...fields(await keyOf(me)), permissions: '', minutes: '61' });
    expect(textOf(empty.body)).toContain('Select at least one permission.');
    expect(textOf(empty.body)).toContain('The lifetime must be between 1 and 60 minutes.');
    const origin = await admin.post(page(), { ...fields(await keyOf(me)), frame_origin: 'javascript:alert(1)' });
    expect(origin.statusCode).toBe(422);
  });

  test('cannot see or revoke the links of another publisher', async () => {
    const other = await addManager(t);
    const link = await create({ user: 'private name' });
    expect((await other.call('GET', '/portal-links')).json().data).toEqual([]);
    const stranger = await signInAs(t, 'admin', other.id);
    const at = `/dashboard/p/${other.id}/settings/portal-links`;
    expect((await stranger.get(at)).body).not.toContain('private name');
    expect((await stranger.post(`${at}/${link.id}/revoke`)).statusCode).toBe(404);
    expect((await stranger.get(page())).statusCode).toBe(404);
    expect(await stateOf(link.id)).toBe('waiting');
  });
});

test('the command line creates, lists and revokes links', async () => {
  const env = { PERKWIRE_URL: base, PERKWIRE_KEY: me.key };
  const created = await runCommand(['portal-links', 'create', frame_origin, 'live', '--user', 'Cem', '--json'], env);
  const { id, url } = JSON.parse(created.out);
  expect([created.code, url]).toEqual([0, expect.stringContaining('/portal/open/')]);
  expect((await runCommand(['portal-links', 'list'], env)).out).toMatch(new RegExp(`${id} {2}waiting {2}Cem {2}live`));
  const revoked = await runCommand(['portal-links', 'revoke', id, '--json'], env);
  expect([revoked.code, JSON.parse(revoked.out)]).toEqual([0, { id }]);
  expect((await runCommand(['portal-links', 'create', frame_origin], env)).code).toBe(2);
});
