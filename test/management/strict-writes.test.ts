import { afterAll, beforeAll, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { routesOf } from '../support/routes.ts';

let t: ManagementApp;
let me: Caller;
beforeAll(async () => {
  t = await createManagementApp();
  me = await t.caller(await t.addPublisher());
});
afterAll(() => t.close());

/**
 * Operations that accept unknown keys: fetch-offers bodies, where they are custom attributes, source events, and CSV
 * imports.
 */
const lenient = [
  ...['/explain', '/translations', '/audiences/guests/import', '/audiences/guests/members/import'],
  '/exchange-rates/import',
  '/sources/segment', // POST: what Segment and RudderStack send
];

test('400: every write in the management API names unknown fields and writes nothing', async () => {
  const catalogue = await addCatalogue(me);
  const add = async (path: string, body: object): Promise<unknown> => (await me.call('POST', path, body)).body.data.id;
  const creative = { offer_id: catalogue.offer, url: 'https://farm.example/box.png', type: 'png', width: 9, height: 9 };
  const ids: Record<string, unknown> = {
    themes: catalogue.theme,
    advertisers: catalogue.advertiser,
    campaigns: catalogue.campaign,
    offers: catalogue.offer,
    creatives: await add('/creatives', creative),
    keys: await add('/keys', { name: 'K', permissions: ['reports'] }),
    roles: await add('/roles', { name: 'R', permissions: ['reports'] }),
    'sequence-rules': await add('/sequence-rules', { effect: 'deny', match: { offers: [catalogue.offer] } }),
    'metric-alerts': await add('/metric-alerts', { name: 'C', metric: 'clicks', comparison: 'below', threshold: 1 }),
    publishers: me.publisherId,
  };
  await me.call('POST', '/audiences', { key: 'guests', name: 'Guests' });
  await me.call('POST', '/experiments', { key: 'hold-out', holdout: 0.1 });
  await me.call('PUT', '/webhook-endpoints/usp.selection', { url: 'https://shop.example/hook', method: 'POST' });
  const pathOf = (path: string): string =>
    path
      .replace(/^\/manage\/v1/, '')
      .replace(':endpoint', 'usp.selection')
      .replace(':listener', '1')
      .replace(':name', 'checkout')
      .replace('audiences/:key', 'audiences/guests')
      .replace('experiments/:key', 'experiments/hold-out')
      .replace(':publisher_id', String(me.publisherId))
      .replace(/(?<=^\/([\w-]+)\/):(advertiser_)?id(\|:id)?/, (_all, kind: string) => String(ids[kind] ?? 1))
      .replace(/$/, /\/publishers\b/.test(path) ? `?publisher_id=${me.publisherId}` : '');
  const writes = routesOf(t.app)
    .filter(({ method, path }) => ['POST', 'PUT', 'PATCH'].includes(method) && path.startsWith('/manage/v1/'))
    .map(({ method, path }) => ({ method: method as 'POST', path: pathOf(path) }))
    .filter(({ path }) => !lenient.includes(path));
  expect(writes.length).toBeGreaterThan(25);
  const { rows: before } = await t.pool.query('select count(*) from audit_log');
  const marks = { perkwire_catalogue: 1 }; // a field of catalogue files alone, without which nothing else is read
  // Use an empty publisher for imports, because only then is the content of the file validated.
  const empty = await t.caller(await t.addPublisher());
  const callerOf = (path: string): Caller => {
    if (path === '/catalogue/import') return empty;
    return path.includes('publishers') ? t.operator : me;
  };
  const reportedWrites: string[] = [];
  for (const { method, path } of writes) {
    const caller = callerOf(path);
    const { status, body } = await caller.call(method, path, { ...marks, no_such_field: true, another_one: 1 });
    expect(status, `${method} ${path} ${JSON.stringify(body)}`).toBeOneOf([400, 404]);
    for (const noObject of [[], 5])
      expect((await caller.call(method, path, noObject as object)).status, `${method} ${path}`).toBeOneOf([400, 404]);
    const { details = [] } = (body as unknown as { error: { details?: { path: string }[] } }).error;
    const paths = details.map((detail) => detail.path);
    if (paths.includes('/no_such_field') && paths.includes('/another_one')) reportedWrites.push(`${method} ${path}`);
  }
  expect((await t.pool.query('select count(*) from audit_log')).rows).toEqual(before);
  const unnamed = writes
    .map(({ method, path }) => `${method} ${path}`)
    .filter((write) => !reportedWrites.includes(write));
  expect(unnamed).toEqual([]);
});

test('finds a placement by a name of the maximum 128 characters', async () => {
  const name = '𝔭'.repeat(128);
  expect((await me.call('POST', '/placements', { name })).status).toBe(201);
  expect((await me.call('GET', `/placements/${encodeURIComponent(name)}`)).body.data.name).toBe(name);
});

test.each(['0', 'x', '%00', '1e3', '9999999999'])(
  '400: rejects a delivery answer whose listener ID is %s',
  async (id) => {
    const answer = { delivery_id: '00000000-0000-7000-8000-000000000000', attempt: 1, took_ms: 0 };
    const { status, body } = await me.call('POST', `/webhook-listeners/${id}/answers`, answer);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { details: [{ path: '/params/listener' }] } });
  },
);
