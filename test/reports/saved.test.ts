import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../command-line/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { callsOf, keyWith } from '../drafts/support.ts';
import { portOf } from '../support/request.ts';
import { addPostbackEndpoint, clickOffer, createTimedApp, track } from '../tracking/conversions/support.ts';
import { rollUpAll } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTimedApp();
  call = callsOf(t);
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
  const { clickId } = await clickOffer(t);
  await track(t, { click_id: clickId, payout: '5.25', txn_id: 'order-1' });
  t.clock.ms += 1000;
  await rollUpAll(t, t.clock.ms);
});
afterAll(() => t?.close());
beforeEach(() => t.pool.query('delete from saved_reports'));

const query = 'range=today&by=campaign&metrics=clicks,revenue,ctr&compare=none';
const save = async (name: string, values: object = {}): Promise<number> => {
  const { status, body } = await call('POST', 'saved-reports', { name, query, ...values });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data.id;
};

test('a report that a program saves is on the report page, and the other way round', async () => {
  const id = await save(' Revenue ');
  expect((await call('GET', 'saved-reports')).body.data).toEqual([
    { id, name: 'Revenue', query: expect.stringContaining('by=campaign'), user_id: null },
  ]);
  const manager = await signInAs(t, 'manager');
  const base = `/dashboard/p/${t.publisher.id}/reports`;
  expect((await manager.get(base)).body).toContain('Revenue</a>');
  await manager.post(`${base}/saved`, { name: 'By page', query: '?by=offer' });
  expect((await call('GET', 'saved-reports')).body.data).toMatchObject([
    { name: 'By page', query: 'by=offer', user_id: manager.userId },
    { name: 'Revenue' },
  ]);
});

test('a run returns the rows of the report page, as JSON with numbers or as the same CSV file', async () => {
  const id = await save('Revenue');
  const { data } = (await call('GET', `saved-reports/${id}/run`)).body;
  expect(data).toMatchObject({ id, name: 'Revenue', time_zone: expect.any(String) });
  const booked = data.rows.filter(({ revenue }: { revenue: number }) => revenue > 0);
  expect(booked).toEqual([
    expect.objectContaining({ campaign_id: expect.any(Number), clicks: 1, revenue: 5.25, currency: 'USD' }),
  ]);
  expect(booked[0].ctr_percent).toBe(100);
  const url = `/manage/v1/saved-reports/${id}/run?format=csv&api_key=demo-key`;
  const csv = await t.app.inject({ url });
  expect(csv.headers['content-type']).toContain('text/csv');
  const analyst = await signInAs(t, 'analyst');
  const page = await analyst.get(`/dashboard/p/${t.publisher.id}/reports.csv?${query}`);
  expect(csv.body).toBe(page.body);
  expect(parse(csv.body, { columns: true })).toHaveLength(data.rows.length);
});

test('409: a name that is in use is not replaced, and 100 reports are the maximum', async () => {
  await save('Revenue');
  expect(await call('POST', 'saved-reports', { name: 'Revenue', query: 'by=offer' })).toMatchObject({
    status: 409,
    code: 'conflict',
  });
  for (let count = 1; count < 100; count += 1) await save(`Report ${count}`);
  expect((await call('POST', 'saved-reports', { name: 'One more', query })).status).toBe(409);
});

test('400: names and queries that are too long, blank or of another type are rejected', async () => {
  for (const body of [
    { name: '', query },
    { name: '  ', query },
    { name: 'x'.repeat(81), query },
    { name: 'Long', query: 'x'.repeat(8001) },
    { name: 'Number', query: 7 },
    { name: 'None' },
    { name: 'More', query, user_id: 1 },
    { name: 'a\0b', query },
  ])
    expect((await call('POST', 'saved-reports', body)).status, JSON.stringify(body).slice(0, 80)).toBe(400);
  expect((await call('GET', 'saved-reports')).body.data).toEqual([]);
  const id = await save('Unknown values', { query: 'by=nothing&metrics=none&page=7' });
  expect((await call('GET', `saved-reports/${id}/run`)).status).toBe(200);
  const long = await save('Too many days', { query: 'from=1990-01-01&to=2020-01-01' });
  expect((await call('GET', `saved-reports/${long}/run`)).status).toBe(400);
});

test("403 and 404: keys need the permission, and another publisher's reports are not found", async () => {
  const id = await save('Revenue');
  const without = callsOf(t, await keyWith(t, ['offers/management']));
  for (const [method, path, body] of [
    ['GET', 'saved-reports'],
    ['POST', 'saved-reports', { name: 'A', query }],
    ['GET', `saved-reports/${id}/run`],
    ['DELETE', `saved-reports/${id}`],
  ] as const)
    expect((await without(method, path, body)).status, `${method} ${path}`).toBe(403);
  const reader = callsOf(t, await keyWith(t, ['reports'], { read_only: true }));
  expect((await reader('GET', `saved-reports/${id}/run`)).status).toBe(200);
  expect((await reader('DELETE', `saved-reports/${id}`)).status).toBe(403);
  const limited = callsOf(t, await keyWith(t, ['reports'], { campaigns: [1] }));
  expect((await limited('GET', `saved-reports/${id}/run`)).status).toBe(403);
  const { rows } = await t.pool.query(
    `with p as (insert into publishers (name, sdk_id) values ('Other', 'dddddddddddddddd') returning id)
    insert into saved_reports (publisher_id, user_id, name, query, created_at)
    select id, null, 'Theirs', '', now() from p returning id`,
  );
  for (const other of [rows[0].id, 0, -1, '1e3', '99999999999999999999', 'x']) {
    expect((await call('GET', `saved-reports/${other}/run`)).status).toBe(404);
    expect((await call('DELETE', `saved-reports/${other}`)).status).toBe(404);
  }
  expect((await call('DELETE', `saved-reports/${id}`)).status).toBe(200);
  expect((await call('GET', 'saved-reports')).body.data).toEqual([]);
});

test('the command line saves a report by the URL of its page, lists it, runs it and removes it', async () => {
  const env = { PERKWIRE_URL: `http://127.0.0.1:${await portOf(t.app)}`, PERKWIRE_KEY: 'demo-key' };
  const run = (...args: string[]) => runCommand(['reports', ...args], env);
  expect((await run('save', 'Revenue', `https://perks.example/dashboard/p/1/reports?${query}`)).code).toBe(0);
  const [saved] = JSON.parse((await run('list', '--json')).out);
  expect(saved).toMatchObject({ name: 'Revenue', query: expect.stringContaining('metrics=') });
  expect((await run('run', String(saved.id))).out).toMatch(/^campaign_id\t/);
  expect((await run('run', String(saved.id), '--format', 'csv')).out).toMatch(/^campaign_id,/);
  expect((await run('remove', String(saved.id))).code).toBe(0);
  expect((await run('run', String(saved.id))).code).toBe(3);
});
