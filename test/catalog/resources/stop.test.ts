import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startCatalogStore } from '../../../src/catalog/store.ts';
import { buildIndex } from '../../../src/decision/build-index.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { runCommand } from '../../command-line/support.ts';
import { signInAs } from '../../dashboard/support.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from './support.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
beforeAll(async () => {
  t = await createManagementApp();
  await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  ids = await addCatalogue(me);
});

const shownIds = async (): Promise<number[]> => {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${me.key}`,
    payload: { placement: 'checkout', ip: '203.0.113.9' },
  });
  return answer.json().data.offers.map(({ id }: { id: number }) => id);
};

test.each([
  ['offers', 'offer'],
  ['campaigns', 'campaign'],
  ['advertisers', 'advertiser'],
])('stopping one of %s hides it and reports it as stopped until it is resumed', async (path, kind) => {
  const before = (await me.call('GET', `/${path}/${ids[kind]}`)).body.data;
  expect(before).toMatchObject({ stopped: false, stopped_at: null, stopped_by: null });
  const { status, body } = await me.call('POST', `/${path}/${ids[kind]}/stop`);
  expect([status, body.data]).toEqual([
    200,
    {
      ...before,
      stopped: true,
      stopped_at: expect.any(String),
      stopped_by: 'Test key',
      updated_at: expect.any(String),
      ...(kind === 'campaign' && { delivery_state: 'stopped' }),
    },
  ]);
  expect(await shownIds()).toEqual([]);
  const explained = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/explain',
    headers: { authorization: `Bearer ${me.key}` },
    payload: { placement: 'checkout' },
  });
  expect(explained.json().data.offers).toEqual([
    expect.objectContaining({ offer_id: ids.offer, rule: 'stopped', reason: `The ${kind} is stopped.` }),
  ]);
  expect((await me.call('GET', `/${path}?stopped=true`)).body.data).toEqual([body.data]);
  const resumed = await me.call('POST', `/${path}/${ids[kind]}/resume`);
  expect(resumed.body.data).toEqual({ ...before, updated_at: expect.any(String) });
  expect(await shownIds()).toEqual([ids.offer]);
});

test('repeated calls change nothing, and the audit log records who stopped and resumed it', async () => {
  const offerPath = `/offers/${ids.offer}`;
  const stopped = await me.call('POST', `${offerPath}/stop`);
  expect((await me.call('POST', `${offerPath}/stop`)).body).toEqual(stopped.body);
  const resumed = await me.call('POST', `${offerPath}/resume`);
  expect((await me.call('POST', `${offerPath}/resume`)).body).toEqual(resumed.body);
  const { body } = await me.call('GET', `/audit?resource=offers&resource_id=${ids.offer}&sort=id`);
  const entries = body.data as unknown as { action: string; actor_label: string }[];
  expect(entries.map(({ action, actor_label: label }) => [action, label])).toEqual([
    ['create', 'Test key'],
    ['stop', 'Test key'],
    ['resume', 'Test key'],
  ]);
});

test('a stopped offer stays hidden when edited, and is still paused on resume if it was paused meanwhile', async () => {
  const offerPath = `/offers/${ids.offer}`;
  await me.call('POST', `${offerPath}/stop`);
  await me.call('PATCH', offerPath, { active: false });
  await me.call('PATCH', offerPath, { active: true, title: 'New' });
  expect(await shownIds()).toEqual([]);
  const { body } = await me.call('GET', offerPath);
  expect((await me.call('PUT', offerPath, body.data)).body.data).toMatchObject({ stopped: true, title: 'New' });
  const lifted = await me.call('PATCH', offerPath, { stopped: false });
  expect(lifted.status).toBe(400);
  await me.call('PATCH', offerPath, { active: false });
  expect((await me.call('POST', `${offerPath}/resume`)).body.data).toMatchObject({ active: false });
  expect(await shownIds()).toEqual([]);
});

test('another publisher, a key without the permission and a body with fields stop nothing', async () => {
  const otherPublisher = await t.caller(await t.addPublisher());
  const reader = await t.caller(me.publisherId, ['reports']);
  for (const path of ['offers', 'campaigns', 'advertisers']) {
    const rowPath = `/${path}/${ids[path.slice(0, -1)]}`;
    for (const action of ['stop', 'resume']) {
      expect((await otherPublisher.call('POST', `${rowPath}/${action}`)).status).toBe(404);
      expect((await reader.call('POST', `${rowPath}/${action}`)).status).toBe(403);
      expect((await me.call('POST', `${rowPath}/${action}`, { for: 'an hour' })).status).toBe(400);
    }
    for (const id of ['0', '-1', '1e3', '99999999999', 'x'])
      expect((await me.call('POST', `/${path}/${id}/stop`)).status).toBe(404);
  }
  expect(await shownIds()).toEqual([ids.offer]);
});

test('other processes pick up a stop automatically', async () => {
  const store = await startCatalogStore({
    pool: t.pool,
    databaseUrl: t.databaseUrl,
    logger: createLogger('silent'),
    buildIndex,
    now: Date.now,
  });
  try {
    const isServed = (): boolean => store.current().offers.get(ids.offer as number)?.active === true;
    expect(isServed()).toBe(true);
    await me.call('POST', `/advertisers/${ids.advertiser}/stop`);
    await expect.poll(isServed).toBe(false);
    await me.call('POST', `/advertisers/${ids.advertiser}/resume`);
    await expect.poll(isServed).toBe(true);
  } finally {
    await store.stop();
  }
});

test('perkwire stop and resume do the same, and explain a mistyped call', async () => {
  const { port } = t.app.server.address() as AddressInfo;
  const env = { PERKWIRE_URL: `http://127.0.0.1:${port}`, PERKWIRE_KEY: me.key };
  const stop = ['stop', 'offer', String(ids.offer)];
  expect(await runCommand(stop, env)).toEqual({ code: 0, out: 'Offer stopped.\n', err: '' });
  expect(await shownIds()).toEqual([]);
  expect(await runCommand(['resume', ...stop.slice(1)], env)).toEqual({ code: 0, out: 'Offer resumed.\n', err: '' });
  expect(await shownIds()).toEqual([ids.offer]);
  for (const args of [['stop'], ['stop', 'offer'], ['stop', 'constructor', '1'], ['stop', 'offer', '../1']])
    expect(await runCommand(args, env)).toMatchObject({ code: 2, err: expect.stringContaining('offer, campaign') });
});

test('pages of offer, campaign and advertiser ask before stopping, name the user, and can resume', async () => {
  const manager = await signInAs(t, 'manager', me.publisherId);
  const analyst = await signInAs(t, 'analyst', me.publisherId);
  const base = `/dashboard/p/${me.publisherId}`;
  for (const kind of ['offer', 'campaign', 'advertiser']) {
    const page = `${base}/${kind}s/${ids[kind]}`;
    expect((await manager.get(page)).body).toMatch(/data-confirm="[^"]+"[^>]+data-confirm-button="Stop now"/);
    expect((await analyst.post(`${page}/stop`)).statusCode).toBe(403);
    expect((await manager.post(`${page}/stop`)).headers.location).toContain(page);
    expect(await shownIds()).toEqual([]);
    expect((await analyst.get(page)).body).toMatch(/<strong>Stopped<\/strong> by manager-\d+@example.com/);
    expect((await analyst.get(page)).body).not.toContain('>Resume<');
    expect((await manager.get(`${base}/${kind}s`)).body).toContain('<span class="badge bad">Stopped</span>');
    const stoppedText = kind === 'offer' ? '<strong>Stopped</strong>' : `because the ${kind} is stopped`;
    expect((await manager.get(`${base}/offers/${ids.offer}`)).body).toContain(stoppedText);
    await manager.post(`${page}/resume`);
    expect(await shownIds()).toEqual([ids.offer]);
  }
});
