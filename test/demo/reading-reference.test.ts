import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoOperatorKey } from '../../src/demo/catalogue.ts';
import { openDemo, removeLeftovers } from '../../src/demo/start.ts';
import { writeHistory } from '../../src/demo/write-history.ts';
import { type ApiDocument, exampleRequestOf, operationsById } from '../../src/reference/openapi/example-request.ts';
import { describeOperations } from '../../src/reference/operations/described.ts';
import { isReading } from '../../src/reference/operations/try-form.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let base: string;
beforeAll(async () => {
  t = await createTestApp({ demo: true });
  const { pool, secretBox } = t.deps;
  const receiverUrl = 'http://127.0.0.1:9/demo/receiver';
  await openDemo(pool, secretBox, { publisherId: t.publisher.id, receiverUrl, nowMs: t.deps.now() });
  await t.deps.catalog.refresh();
  await writeHistory(t.deps);
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => t?.close());

async function countsOfTables(): Promise<Record<string, number>> {
  const { rows } = await t.pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of rows)
    counts[name] = (await t.pool.query(`select count(*)::int as n from ${name}`)).rows[0].n as number;
  return counts;
}

const read = async (url: string) => {
  const answer = await t.app.inject(url);
  expect(answer.statusCode, url).toBeLessThan(400);
  return answer;
};

test('reading the documentation changes no table', async () => {
  const before = await countsOfTables();
  expect(Object.keys(before).length).toBeGreaterThan(40);
  expect(before.sessions).toBeGreaterThan(0);
  for (const url of ['/docs', '/docs/json', '/docs/yaml', '/docs/events', '/docs/guides', '/docs/json'])
    await read(url);
  expect(await countsOfTables()).toEqual(before);
});

test('calls that the reference runs without a confirmation change no table', async () => {
  const document = (await read('/docs/json')).json() as ApiDocument;
  const keys = { bearer: t.publisher.key, operator: demoOperatorKey };
  const reading = describeOperations(document)
    .flatMap(({ tags }) => tags.flatMap(({ operations }) => operations))
    .filter((operation) => isReading(operation) && !operation.path.endsWith('/stream') && operation.tag !== 'Health');
  expect(reading.length).toBeGreaterThan(50);
  const { api_key_uses: _uses, ...before } = await countsOfTables();
  for (const operation of reading) {
    const { url, payload, ...init } = exampleRequestOf(document, operation, keys);
    const answer = await fetch(base + url, { ...init, redirect: 'manual', ...(payload && { body: payload }) });
    await answer.text();
    expect([operation.id, answer.status < 500]).toEqual([operation.id, true]);
  }
  const { api_key_uses: _later, ...after } = await countsOfTables();
  expect(after).toEqual(before);
});

test('examples use a session, a token and a delivery that exist in the demo', async () => {
  const fetched = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${t.publisher.key}`,
    payload: { placement: 'checkout', pub_user_id: 'user-42' },
  });
  expect(fetched.json().data.count).toBeGreaterThan(0);
  const document = (await read('/docs/json')).json() as ApiDocument;
  const keys = { bearer: t.publisher.key, operator: demoOperatorKey };
  const refused: string[] = [];
  for (const name of [
    ...['recordImpression', 'recordNoThanks', 'recordClose', 'followOffer', 'saveOffer', 'openWallet'],
    ...['getPerksSession', 'selectOffer', 'unselectOffer', 'changeSelection', 'wrapSession', 'redecideSession'],
    ...['getDelivery', 'redeliver', 'getWebhookPayload'],
  ]) {
    const operation = operationsById(document).get(name);
    const request = exampleRequestOf(document, operation as NonNullable<typeof operation>, keys);
    const { url, payload, ...init } = request;
    const answer = await fetch(base + url, { ...init, redirect: 'manual', ...(payload && { body: payload }) });
    const body = await answer.text();
    if (answer.status >= 400) refused.push(`${name}: ${answer.status} ${body.slice(0, 200)}`);
  }
  expect(refused).toEqual([]);
});

test('only rows created by the reference pages of earlier versions are removed at the next start', async () => {
  const call = async (path: string, body: object): Promise<number> => {
    const headers = { authorization: `Bearer ${t.publisher.key}` };
    const answer = await t.app.inject({ method: 'POST', url: `/manage/v1${path}`, headers, payload: body });
    expect(answer.statusCode).toBe(201);
    return answer.json().data.id;
  };
  const endpoint = { url: 'https://shop.example/hooks', events: ['usp.selection'], description: 'Orders' };
  const advertiser = { name: 'Green Farm' };
  const used = await call('/advertisers', advertiser);
  await call('/campaigns', { advertiser_id: used, name: 'Boxes', landing_url: 'https://farm.example/' });
  const retainedIds = [
    ...[used, await call('/advertisers', { name: 'Green Farms' })],
    ...[await call('/webhook-endpoints', { ...endpoint, description: 'Mine' })],
  ];
  const living = async () =>
    (
      await t.pool.query<{ ids: number[] }>(
        `select array_agg(id order by id) as ids from (
          select id from advertisers where deleted_at is null
          union all select id from webhook_endpoints where deleted_at is null) rows`,
      )
    ).rows[0]?.ids;
  // Rows that are created individually by hand.
  const alone = [await call('/advertisers', advertiser), await call('/webhook-endpoints', endpoint)];
  await t.pool.query(`update advertisers set created_at = created_at - id * interval '1 hour',
    updated_at = updated_at - id * interval '1 hour' where name = 'Green Farm'`);
  await t.pool.query(`update webhook_endpoints set created_at = created_at - interval '1 hour',
    updated_at = updated_at - interval '1 hour'`);
  const before = await living();
  expect(before).toEqual(expect.arrayContaining([...retainedIds, ...alone]));
  for (let times = 0; times < 2; times++) {
    await call('/advertisers', advertiser);
    await call('/webhook-endpoints', endpoint);
  }
  expect(await living()).toHaveLength((before?.length ?? 0) + 4);
  await removeLeftovers(t.pool, t.deps.now());
  expect(await living()).toEqual(before);
});
