import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadDemoCatalogue, randomDemoIds } from '../../../src/demo/catalogue.ts';
import { createApiLog, maxRowsPerPublisher } from '../../../src/offers/request-log/api-log.ts';
import { applyOfferRetention } from '../../../src/offers/retention.ts';
import { ensurePartitions } from '../../../src/platform/db/partitions.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/platform/lib/time.ts';
import { runCommand } from '../../command-line/support.ts';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let nowMs = Date.UTC(2033, 6, 18, 12);
const other = randomDemoIds();
const log = () => t.modules.offers.apiLog;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await transaction(t.pool, (executor) => loadDemoCatalogue(executor, other));
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'Reports', decode($2, 'hex'), $3)`,
    [t.publisher.id, hashKey('reports-only'), ['reports']],
  );
  await t.deps.catalog.refresh();
});
afterAll(() => t?.close());
beforeEach(async () => {
  nowMs += 2 * hourMs;
  await log().write(t.pool);
  await t.pool.query('truncate api_calls, api_call_counts');
});

type Sent = { key?: string; method?: 'GET' | 'POST' | 'PATCH'; payload?: object };

async function send(url: string, { key = t.publisher.key, method = 'GET', payload }: Sent = {}) {
  const answer = await t.app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}` },
    ...(payload !== undefined && { payload }),
  });
  return { status: answer.statusCode, body: answer.json() };
}
const fetchOffers = (payload: object, key = t.publisher.sdkId) =>
  send('/native/v4/offers.json', { method: 'POST', payload, key });

/** Writes the collected calls and reads the log over the API, without the calls that read it. */
async function read(query = '', key = t.publisher.key) {
  await log().write(t.pool);
  return (await send(`/manage/v1/api-log${query}`, { key })).body as {
    data: Record<string, unknown>[];
    next_cursor: string | null;
  };
}
const groups = async (query = '') => {
  await log().write(t.pool);
  return (await send(`/manage/v1/api-log/groups${query}`)).body.data as Record<string, unknown>[];
};

describe('the API log', () => {
  test('finds a rejected call by the request_id of its response, with the reason, field and key', async () => {
    const { body } = await fetchOffers({ placement: 'x'.repeat(200) });
    const { body: denied } = await send('/manage/v1/offers', { key: 'reports-only' });
    expect((await read(`?request_id=${body.request_id}`)).data).toEqual([
      expect.objectContaining({
        method: 'POST',
        route: '/native/v4/offers.json',
        path: '/native/v4/offers.json',
        status: 400,
        code: 'missing_placement',
        fields: ['/placement'],
        request_id: body.request_id,
        key_id: null,
      }),
    ]);
    expect((await read(`?request_id=${denied.request_id}`)).data).toEqual([
      expect.objectContaining({
        status: 403,
        code: 'permission_denied',
        route: '/manage/v1/offers',
        key_name: 'Reports',
      }),
    ]);
  });

  test('counts all calls by route and result, and returns accepted ones only on request', async () => {
    for (let index = 0; index < 5; index += 1) expect((await fetchOffers({ placement: 'checkout' })).status).toBe(200);
    await log().write(t.pool);
    for (let index = 0; index < 5; index += 1) await fetchOffers({ placement: 'checkout' });
    for (const title of ['One', 'Two'])
      expect((await send('/manage/v1/offers/1', { method: 'PATCH', payload: { title } })).status).toBe(200);
    await fetchOffers({});
    const list = await groups('?all=true');
    expect(list[0]).toMatchObject({ status: 400, code: 'missing_placement', calls: 1 });
    expect(list).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ route: '/native/v4/offers.json', status: 200, code: null, calls: 10 }),
        expect.objectContaining({ route: '/manage/v1/offers/:id', method: 'PATCH', calls: 2 }),
      ]),
    );
    // On a busy machine, accepted calls can be slow.
    expect((await groups()).filter(({ slow }) => slow === 0)).toEqual([expect.objectContaining({ status: 400 })]);
    expect((await read('?status=2xx')).data.map(({ path }) => path)).toContain('/manage/v1/offers/1');
  });

  test('stores every change, and one other accepted call per route and hour', async () => {
    const add = (method: string, isChange: boolean, requestId: string) =>
      log().add(t.publisher.id, { method, route: '/manage/v1/offers', status: 200, code: '', ms: 1 }, isChange, () => ({
        path: '/manage/v1/offers',
        fields: [],
        requestId,
        keyId: null,
      }));
    for (const requestId of ['read-1', 'read-2']) add('GET', false, requestId);
    await log().write(t.pool);
    for (const requestId of ['read-3', 'read-4']) add('GET', false, requestId);
    for (const requestId of ['change-1', 'change-2']) add('POST', true, requestId);
    nowMs += hourMs;
    await log().write(t.pool);
    add('GET', false, 'read-5');
    const ids = (await read('?route=/manage/v1/offers')).data.map((call) => call.request_id);
    expect(ids.sort()).toEqual(['change-1', 'change-2', 'read-1', 'read-5']);
  });

  test('counts a flood of rejected calls and stores only some of them', async () => {
    for (let index = 0; index < 60; index += 1) await fetchOffers({});
    const { data } = await read('?code=missing_placement&limit=100');
    expect(data).toHaveLength(maxRowsPerPublisher);
    expect(await groups('?code=missing_placement')).toEqual([
      expect.objectContaining({ status: 400, calls: 60, days: [0, 0, 0, 0, 0, 0, 60] }),
    ]);
    nowMs += minuteMs;
    await fetchOffers({});
    expect((await read('?code=missing_placement&limit=100')).data).toHaveLength(maxRowsPerPublisher + 1);
    expect((await groups('?code=missing_placement'))[0]).toMatchObject({ calls: 61 });
  });

  test('contains no bodies, parameter values, user IDs, or invalid fields that look like personal data', async () => {
    await send('/manage/v1/users/ada@shop.test?x=secret-value', { key: 'reports-only' });
    await send('/manage/v1/story?id=ada@shop.test');
    await send('/manage/v1/offers?ada@shop.test=1');
    await send('/manage/v1/keys', { method: 'POST', payload: { name: 'k', 'ada@shop.test': 1, 'a\0b': 2 } });
    await send('/manage/v1/nothing/ada@shop.test');
    await log().write(t.pool);
    const { rows } = await t.pool.query('select * from api_calls');
    expect(rows.length).toBeGreaterThan(3);
    expect(JSON.stringify(rows)).not.toMatch(/ada@|secret-value/);
    const paths = (await t.pool.query('select distinct route from api_call_counts')).rows;
    expect(JSON.stringify(paths)).not.toContain('ada');
  });

  test('filters by status, code, route and key, and returns pages', async () => {
    const created = [];
    for (let index = 0; index < 3; index += 1) {
      nowMs += 1000;
      created.push((await fetchOffers({})).body.request_id);
    }
    await send('/manage/v1/offers/999999');
    await send('/manage/v1/offers', { key: 'reports-only' });
    const codes = async (query: string) => (await read(query)).data.map(({ code }) => code);
    expect(await codes('?status=404')).toEqual(['resource_not_found']);
    expect(await codes('?status=4xx&code=permission_denied')).toEqual(['permission_denied']);
    expect(await codes(`?route=${encodeURIComponent('/manage/v1/offers/:id')}&status=4xx`)).toEqual([
      'resource_not_found',
    ]);
    const [{ key_id: keyId }] = (await read('?code=permission_denied')).data as [{ key_id: number }];
    expect(await codes(`?key_id=${keyId}`)).toEqual(['permission_denied']);
    const first = await read('?code=missing_placement&limit=2');
    const second = await read(`?code=missing_placement&limit=2&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data].map((call) => call.request_id)).toEqual(created.reverse());
    expect(second.next_cursor).toBe(null);
    expect((await send('/manage/v1/api-log?status=banana')).status).toBe(400);
    expect((await send('/manage/v1/api-log', { key: 'reports-only' })).status).toBe(403);
  });

  test("contains only the publisher's own calls", async () => {
    const { body } = await fetchOffers({}, other.sdkId);
    expect((await read(`?request_id=${body.request_id}`)).data).toEqual([]);
    expect((await read('?code=missing_placement')).data).toEqual([]);
    expect((await read(`?request_id=${body.request_id}`, other.key)).data).toHaveLength(1);
  });

  test('marks slow calls, and adds up the counts of several processes', async () => {
    const elsewhere = createApiLog({ now: () => nowMs });
    const details = () => ({ path: '/p', fields: [], requestId: 'slow-1', keyId: null });
    const call = { method: 'GET', route: '/native/activity.json', status: 200, code: '' };
    for (const collector of [log(), elsewhere]) {
      collector.add(t.publisher.id, { ...call, ms: 1500 }, false, details);
      collector.add(t.publisher.id, { ...call, ms: 500 }, false, details);
    }
    await elsewhere.write(t.pool);
    const route = encodeURIComponent(call.route);
    expect(await groups(`?route=${route}`)).toEqual([expect.objectContaining({ calls: 4, slow: 2, average_ms: 1000 })]);
    expect((await read(`?status=slow&route=${route}`)).data).toHaveLength(2);
  });

  test('deletes calls after 30 days', async () => {
    await fetchOffers({});
    await log().write(t.pool);
    const days = { retentionRawDays: 400, retentionRollupDays: 400, retentionDeliveryDays: 400 };
    await applyOfferRetention(t.pool, days, nowMs + 29 * dayMs);
    expect((await t.pool.query('select from api_calls')).rowCount).toBe(1);
    await applyOfferRetention(t.pool, days, nowMs + 32 * dayMs);
    expect((await t.pool.query('select from api_calls')).rowCount).toBe(0);
    expect((await t.pool.query('select from api_call_counts')).rowCount).toBe(0);
    await ensurePartitions(t.pool, nowMs);
  });
});

test('the page lists problems first, and each leads to its calls', async () => {
  const { cookie } = await signInAs(t, 'analyst');
  const page = async (query = '') => {
    const answer = await t.app.inject({ url: `/dashboard/p/${t.publisher.id}/api-log${query}`, headers: { cookie } });
    return { status: answer.statusCode, body: answer.body };
  };
  expect((await page()).body).toContain('No API requests yet');
  const { body } = await fetchOffers({});
  await log().write(t.pool);
  const first = await page();
  expect(first.body).toContain('Problems by endpoint');
  const link = /href="[^"]*\/api-log(\?[^"]*code=missing_placement[^"]*)"/.exec(first.body)?.[1] ?? '';
  expect((await page(link.replaceAll('&amp;', '&'))).body).toContain(body.request_id);
  expect((await page('?request_id=zzz-1')).body).toContain('No request with this ID is stored');
  expect((await page('?request_id=%27%22%3Cscript%3E&status=x&days=99&key=-1')).body).not.toContain('<script>');
});

test('perkwire log lists calls, finds one by its ID, and counts them', async () => {
  const env = {
    PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }),
    PERKWIRE_KEY: t.publisher.key,
  };
  const { body } = await fetchOffers({});
  await log().write(t.pool);
  expect((await runCommand(['log', '--request', body.request_id], env)).out).toContain('missing_placement');
  expect(await runCommand(['log', '--request', 'nothing-1'], env)).toMatchObject({ code: 1 });
  expect((await runCommand(['log', '--groups'], env)).out).toMatch(/1 {2}400 {2}missing_placement {2}POST/);
  expect(await runCommand(['log', '--status', 'x'], env)).toMatchObject({ code: 2 });
});
