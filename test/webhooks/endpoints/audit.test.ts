import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../../catalog/resources/support.ts';
import { signInAs } from '../../dashboard/support.ts';

const path = '/webhook-endpoints/usp.selection';
const url = 'http://127.0.0.1:9/hook';

let t: ManagementApp;
let me: Caller;

beforeAll(async () => {
  t = await createManagementApp();
});
afterAll(() => t.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
});

type Entry = {
  action: string;
  resource_id: string;
  actor_kind: string;
  actor_label: string;
  changes: Record<string, unknown>;
};

/** Returns the audit log entries, oldest first. */
async function log(resource = 'webhook-endpoints', who = me): Promise<Entry[]> {
  const { body } = await who.call('GET', `/audit?resource=${resource}`);
  return (body.data as unknown as Entry[]).toReversed();
}
const lastChanges = async (resource?: string): Promise<unknown> => (await log(resource)).at(-1)?.changes;
const put = (settings: object = {}) => me.call('PUT', path, { url, method: 'POST', ...settings });
const act = (name: string, body?: object) => me.call('POST', `${path}/${name}`, body);

test('every change to a webhook endpoint is logged with its author and its old and new values', async () => {
  await put();
  await put({ url: `${url}/2`, max_in_flight: 9 });
  expect(await lastChanges()).toEqual({ url: { old: url, new: `${url}/2` }, max_in_flight: { old: 4, new: 9 } });
  await act('pause');
  const pausedAt = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(await lastChanges()).toEqual({ paused_at: { old: null, new: pausedAt } });
  await act('resume', { rate_per_s: 5 });
  expect(await lastChanges()).toEqual({
    paused_at: { old: pausedAt, new: null },
    resume_rate_per_s: { old: null, new: 5 },
  });
  await act('disable');
  expect(await lastChanges()).toEqual({ enabled: { old: true, new: false } });
  await act('enable');
  expect(await lastChanges()).toEqual({ enabled: { old: false, new: true } });
  await act('rotate-secret', { overlap_s: 0 });
  expect(await lastChanges()).toEqual({ secret: { old: 'set', new: 'changed' } });
  await me.call('DELETE', path);
  await put();
  const entries = await log();
  expect(entries.map(({ action }) => action)).toEqual([
    'create',
    'update',
    'update',
    'update',
    'update',
    'update',
    'update',
    'remove',
    'create',
  ]);
  expect(entries[7]?.changes).toMatchObject({ url: { old: `${url}/2`, new: null }, secret: { old: 'set', new: null } });
  for (const entry of entries)
    expect(entry).toMatchObject({ resource_id: 'usp.selection', actor_kind: 'key', actor_label: 'Test key' });
  expect(await log('webhook-endpoints', await t.caller(await t.addPublisher()))).toEqual([]);
});

test('secrets and header values are not logged, only the fact that they changed', async () => {
  const response = await put({ headers: { 'x-token': 'first-value', 'x-kept': 'kept-value' } });
  expect(await lastChanges()).toMatchObject({ headers: { old: null, new: { 'x-token': 'set', 'x-kept': 'set' } } });
  await put({ headers: { 'x-token': 'second-value', 'x-kept': 'kept-value', 'x-new': 'third-value' } });
  expect(await lastChanges()).toEqual({
    headers: {
      old: { 'x-token': 'set', 'x-kept': 'set' },
      new: { 'x-token': 'changed', 'x-kept': 'set', 'x-new': 'set' },
    },
  });
  const rotated = await act('rotate-secret');
  const { rows } = await t.pool.query("select string_agg(to_jsonb(l)::text, '') as text from audit_log l");
  for (const secret of [
    'first-value',
    'second-value',
    'third-value',
    'kept-value',
    response.body.data.secret,
    rotated.body.data.secret,
  ])
    expect(rows[0].text).not.toContain(secret);
  expect(rows[0].text).not.toContain('sealed');
});

test('the query of a URL is not logged, only the fact that it changed', async () => {
  await put({ url: `${url}?token=first-token` });
  expect(await lastChanges()).toMatchObject({ url: { old: null, new: `${url}?…` } });
  await put({ url: `${url}?token=second-token` });
  expect(await lastChanges()).toEqual({ url: { old: `${url}?…`, new: `${url}?… (changed)` } });
  await put({ url: `${url}/2?token=second-token` });
  expect(await lastChanges()).toEqual({ url: { old: `${url}?…`, new: `${url}/2?…` } });
  await put();
  expect(await lastChanges()).toEqual({ url: { old: `${url}/2?…`, new: url } });
  expect(JSON.stringify(await log())).not.toContain('token');
});

test('a change that has no effect or is rejected is not logged', async () => {
  await put({ headers: { 'x-token': 'value' } });
  await put({ headers: { 'x-token': 'value' } });
  await act('enable');
  expect((await put({ url: 'no url' })).status).toBe(400);
  expect((await me.call('POST', '/webhook-endpoints/conversion/pause')).status).toBe(404);
  expect(await log()).toHaveLength(1);
});

test('only one of two concurrent calls that set an endpoint is logged as its creation', async () => {
  await Promise.all([put({ max_in_flight: 2 }), put({ max_in_flight: 3 })]);
  expect((await log()).map(({ action }) => action)).toEqual(['create', 'update']);
});

test('a change in the dashboard is logged with the signed-in user', async () => {
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/webhooks/usp.selection`;
  await admin.post(page, { url, method: 'POST', enabled: 'on', deadline_s: '5', max_in_flight: '4' });
  for (const action of ['pause', 'resume', 'rotate']) await admin.post(`${page}/${action}`);
  const entries = await log();
  expect(entries.map(({ action }) => action)).toEqual(['create', 'update', 'update', 'update']);
  for (const entry of entries)
    expect(entry).toMatchObject({ actor_kind: 'user', actor_label: expect.stringMatching(/^admin-\d+@example\.com$/) });
});

test("setting, changing and removing an advertiser's conversion secret is logged without the secret", async () => {
  const { advertiser } = await addCatalogue(me);
  const secretPath = `/advertisers/${advertiser}/conversion-secret`;
  const { secret } = (await me.call('POST', secretPath)).body.data;
  expect(await lastChanges('advertisers')).toEqual({ conversion_secret: { old: null, new: 'set' } });
  await me.call('POST', secretPath);
  expect(await lastChanges('advertisers')).toEqual({ conversion_secret: { old: 'set', new: 'changed' } });
  await me.call('DELETE', secretPath);
  await me.call('DELETE', secretPath);
  const entries = await log('advertisers');
  expect(entries.map(({ action }) => action)).toEqual(['create', 'update', 'update', 'update']);
  expect(entries[3]).toMatchObject({
    resource_id: String(advertiser),
    changes: { conversion_secret: { old: 'set', new: null } },
  });
  expect(JSON.stringify(entries)).not.toContain(secret);
  const foreign = await t.caller(await t.addPublisher());
  expect((await foreign.call('POST', secretPath)).status).toBe(404);
});

test('a change that cannot be logged is not made', async () => {
  await put();
  const { advertiser } = await addCatalogue(me);
  await t.pool.query("alter table audit_log add constraint full_disk check (action = '') not valid");
  expect((await act('pause')).status).toBe(500);
  expect((await me.call('POST', `/advertisers/${advertiser}/conversion-secret`)).status).toBe(500);
  await t.pool.query('alter table audit_log drop constraint full_disk');
  expect((await me.call('GET', path)).body.data.paused_at).toBeNull();
  const { rows } = await t.pool.query('select conversion_secret_sealed from advertisers where id = $1', [advertiser]);
  expect(rows[0].conversion_secret_sealed).toBeNull();
});
