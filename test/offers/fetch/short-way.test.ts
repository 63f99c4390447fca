import { request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { holdTable } from '../../support/locks.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { withoutStore } from '../../tracking/journey.ts';

/*
 * Over a socket, where most fetches never see the framework. What is answered, and kept, must be what the route does.
 */

let t: TestApp;
let campaignId: number;
beforeAll(async () => {
  t = await createTestApp({ config: { trustProxy: 1 } });
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  const { rows } = await t.pool.query(
    "select c.id from campaigns c join offers o on o.campaign_id = c.id where o.title like '%{{%' limit 1",
  );
  campaignId = rows[0].id;
});
afterAll(() => t.close());
beforeEach(() => t.pool.query('truncate sessions'));

type Asked = { path?: string; query?: string; headers?: Record<string, string>; body?: unknown; method?: string };
type Answer = { status: number; headers: Record<string, unknown>; body: string };

const path = '/native/v4/offers.json';
const bytesOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? {}));

/** One offer, so that chance decides nothing. */
const usual = (): string => `api_key=${t.publisher.key}&loyaltyboost=1&campaignId=${campaignId}`;

const over = (asked: Asked, app = t.app): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { port } = app.server.address() as AddressInfo;
    const body = bytesOf(asked.body);
    const { 'transfer-encoding': chunked, ...given } = asked.headers ?? {};
    const length = chunked === undefined ? { 'content-length': String(body.length) } : { 'transfer-encoding': chunked };
    const headers = { 'content-type': 'application/json', 'user-agent': 'tests', ...length, ...given };
    const url = `${asked.path ?? path}?${asked.query ?? usual()}`;
    const outgoing = send(
      { port, host: '127.0.0.1', path: url, method: asked.method ?? 'POST', headers, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode as number,
            headers: answer.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    outgoing.on('error', reject).end(body);
  });

/** The same past the socket, through the framework. */
const through = async (asked: Asked): Promise<Answer> => {
  const answer = await t.app.inject({
    method: (asked.method ?? 'POST') as 'POST',
    url: `${asked.path ?? path}?${asked.query ?? usual()}`,
    headers: { 'content-type': 'application/json', 'user-agent': 'tests', ...asked.headers },
    payload: bytesOf(asked.body),
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.rawPayload.toString('utf8') };
};

/** Without what differs from one answer to the next, and what belongs to the connection. */
const comparable = ({ status, headers, body }: Answer): unknown => {
  const { date, connection, 'keep-alive': keepAlive, ...kept } = headers;
  const plain = body
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, 'SESSION')
    .replace(/([?&]t=)[\w-]{64}/g, '$1TOKEN')
    .replace(/"request_id":"[^"]*"/, '"request_id":"ID"');
  return {
    status,
    headers: { ...kept, 'content-length': body === plain ? kept['content-length'] : 'SAME' },
    body: plain,
  };
};

/** What is kept of sessions, but for their chance. */
async function kept(): Promise<unknown[]> {
  const { rows } = await t.pool.query('select * from sessions order by created_at, id');
  return rows.map(({ id, created_at, written_by, decision, ...rest }) => ({
    ...rest,
    propensities: JSON.parse(decision)[2],
  }));
}

/** How many requests the framework has seen: its ids are counted. */
async function seenByFramework(): Promise<number> {
  const { body } = await over({ path: '/nowhere' });
  return Number.parseInt(JSON.parse(body).request_id.split('-')[1], 36);
}

async function expectSame(asked: Asked): Promise<Answer> {
  const here = await over(asked);
  const first = await kept();
  await t.pool.query('truncate sessions');
  const there = await through(asked);
  expect(comparable(here), JSON.stringify(asked)).toEqual(comparable(there));
  expect(first).toEqual(await kept());
  await t.pool.query('truncate sessions');
  return here;
}

const body = { placement: 'Check out', ad_fp: 'f-1', pub_user_id: 'u-1', first_name: 'Zoë "<b>" 🎁' };

const plain: Record<string, () => Asked> = {
  'a usual one': () => ({ body }),
  'an older version of the path': () => ({ path: '/native/v1/offers.json', body }),
  'no user': () => ({ body: { placement: 'checkout' } }),
  'old names': () => ({
    body: {
      placement: 'checkout',
      adpx_fp: 'f-2',
      user_agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)',
    },
  }),
  'nulls for what is not known': () => ({ body: { ...body, ua: null, country: null, order: null } }),
  'the publisher’s own keys': () => ({
    body: { ...body, order_value: 49.9, member: true, basket: [{ sku: 'a"\\' }], empty: '' },
  }),
  'no consent': () => ({ body: { ...body, consent: '0' } }),
  'a browser that asks for privacy': () => ({ body, headers: { 'sec-gpc': '1' } }),
  'a test': () => ({ body: { ...body, dev: true } }),
  'a country in the query': () => ({ query: `${usual()}&country=de`, body }),
  'a user in the query': () => ({ query: `${usual()}&pub_user_id=u-7`, body: { placement: 'checkout' } }),
  'an address': () => ({ body: { ...body, ip: '8.8.8.8' } }),
  'the address of the caller': () => ({
    body: { ...body, ip: 'auto' },
    headers: { 'x-forwarded-for': '1.1.1.1, 8.8.8.8' },
  }),
  'a deadline': () => ({ body: { ...body, timeout_ms: 5000 } }),
  'a theme that is not there': () => ({ body: { ...body, themeId: 99 } }),
  'only with a picture': () => ({ query: `${usual()}&creative=1`, body: { ...body, creative: 0 } }),
  'a campaign that is not there': () => ({ query: `api_key=${t.publisher.key}&campaignId=99999999`, body }),
  'the key in the body': () => ({
    query: `loyaltyboost=1&campaignId=${campaignId}`,
    body: { ...body, key: t.publisher.key },
  }),
  'the key in a header': () => ({
    query: `loyaltyboost=1&campaignId=${campaignId}`,
    headers: { authorization: `Bearer ${t.publisher.key}` },
    body,
  }),
  'the SDK id': () => ({ query: `api_key=${t.publisher.sdkId}&loyaltyboost=1&campaignId=${campaignId}`, body }),
  'another spelling of the content type': () => ({
    headers: { 'content-type': 'application/json; charset=UTF-8' },
    body,
  }),
  'bytes that are no text': () => ({
    body: Buffer.from([...Buffer.from('{"placement":"a'), 0xff, 0xc3, ...Buffer.from('"}')]),
  }),
};

const odd: Record<string, () => Asked> = {
  'no key': () => ({ query: '', body }),
  'a key nobody has': () => ({ query: 'api_key=nobodys', body }),
  'a key twice': () => ({ query: `${usual()}&api_key=nobodys`, body }),
  'a key that is no text': () => ({ query: '', body: { ...body, key: 7 } }),
  'an encoded query': () => ({ query: usual().replace('loyalty', 'l%6fyalty'), body }),
  'two question marks': () => ({ query: `${usual()}?x`, body }),
  'a parameter of one’s own': () => ({ query: `${usual()}&utm=1`, body }),
  'a campaign that is no number': () => ({ query: `api_key=${t.publisher.key}&campaignId=x`, body }),
  'no placement': () => ({ body: {} }),
  'a user id that is an address': () => ({ body: { ...body, pub_user_id: 'ada@example.com' } }),
  'a field of a wrong type': () => ({ body: { ...body, ua: 7 } }),
  'a text that is too long': () => ({ body: { ...body, ad_fp: 'x'.repeat(257) } }),
  'a text of as many characters as allowed, of two code units each': () => ({
    body: { ...body, ad_fp: '🎁'.repeat(256) },
  }),
  'a NUL': () => ({ body: { ...body, note: 'a\0b' } }),
  'too many keys of one’s own': () => ({
    body: { ...body, ...Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, at])) },
  }),
  'a name that is refused': () => ({ body: '{"placement":"checkout","__proto__":{"x":1}}' }),
  'a name that is refused, escaped': () => ({ body: '{"placement":"checkout","\\u005f_proto__":{"x":1}}' }),
  'a list': () => ({ body: [] }),
  'no JSON': () => ({ body: '{"placement":' }),
  'a number': () => ({ body: '7' }),
  nothing: () => ({ body: '' }),
  'a deep body': () => ({ body: `{"placement":"checkout","a":${'['.repeat(80)}${']'.repeat(80)}}` }),
  'a mark before the text': () => ({ body: `\uFEFF${JSON.stringify(body)}` }),
  'a body that is too large': () => ({ body: { ...body, note: 'x'.repeat(65_536) } }),
  'a packed body': () => ({ headers: { 'content-encoding': 'gzip' }, body: gzipSync(JSON.stringify(body)) }),
  'another content type': () => ({ headers: { 'content-type': 'text/plain' }, body }),
  'another charset': () => ({ headers: { 'content-type': 'application/json; charset=latin1' }, body }),
  'another method': () => ({ method: 'PUT', body }),
};

describe('a fetch is answered and kept the same with and without the framework', () => {
  test.each(Object.keys(plain))('%s', async (name) => {
    const asked = (plain[name] as () => Asked)();
    const before = await seenByFramework();
    await over(asked);
    expect((await seenByFramework()) - before, 'the framework saw it').toBe(1);
    await t.pool.query('truncate sessions');
    expect((await expectSame(asked)).status).toBe(200);
  });

  test.each(Object.keys(odd))('%s', async (name) => {
    await expectSame((odd[name] as () => Asked)());
  });

  test('a body in chunks', async () => {
    const there = await through({ body });
    expect(comparable(await over({ headers: { 'transfer-encoding': 'chunked' }, body }))).toMatchObject({
      body: (comparable(there) as Answer).body,
    });
  });
});

/**
 * Sends pieces one after the other, each when the one before is under way, and gives all that comes back until the end.
 */
const inPieces = (pieces: readonly Buffer[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port: (t.app.server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
    let answer = '';
    socket.setEncoding('latin1');
    socket.on('data', (text) => {
      answer += text;
    });
    socket.on('end', () => resolve(answer)).on('error', reject);
    const next = (at: number): void => {
      if (at < pieces.length) socket.write(pieces[at] as Buffer, () => setImmediate(next, at + 1));
    };
    next(0);
  });

const wire = (asked: Asked, last: boolean): Buffer => {
  const bytes = bytesOf(asked.body);
  const head = `POST ${path}?${asked.query ?? usual()} HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\n${last ? 'connection: close\r\n' : ''}\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
};

test('a body that comes byte by byte, in the middle of letters, is read whole', async () => {
  const bytes = wire({ body }, true);
  const cut = bytes.indexOf('first_name');
  const pieces = [bytes.subarray(0, cut), ...Array.from(bytes.subarray(cut), (byte) => Buffer.from([byte]))];
  expect(await inPieces(pieces)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(await kept()).toMatchObject([{ custom: { first_name: body.first_name } }]);
});

test('requests sent at once over one connection are answered in their order, good and bad ones', async () => {
  const asked: Asked[] = [
    { body },
    { body: {} },
    { body: { placement: 'second' } },
    { query: 'api_key=nobodys', body },
    { body },
  ];
  const answer = await inPieces([Buffer.concat(asked.map((one, at) => wire(one, at === asked.length - 1)))]);
  expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
    '200',
    '400',
    '200',
    '401',
    '200',
  ]);
  expect(await kept()).toHaveLength(3);
});

test('a client that goes away in the middle of its body leaves nothing behind', async () => {
  const bytes = wire({ body }, true);
  const { port } = t.app.server.address() as AddressInfo;
  await new Promise<void>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(bytes.subarray(0, bytes.length - 5), () => socket.destroy());
    socket.on('close', () => resolve());
  });
  expect((await over({ body })).status).toBe(200);
  expect(await kept()).toHaveLength(1);
});

test('a request counts once against the limit of its key', async () => {
  await t.pool.query('update api_keys set rate_limit_per_s = 2');
  const nowMs = Date.now();
  const limited = await createTestApp({ databaseUrl: t.databaseUrl, now: () => nowMs });
  try {
    await limited.app.listen({ port: 0, host: '127.0.0.1' });
    const statuses = [];
    for (let at = 0; at < 3; at++) statuses.push((await over({ body }, limited.app)).status);
    expect(statuses).toEqual([200, 200, 429]);
  } finally {
    await t.pool.query('update api_keys set rate_limit_per_s = null');
    await limited.close();
  }
});

test('while the store is away a fetch is refused with 503 in the usual form, and nothing is kept', async () => {
  await withoutStore(t.databaseUrl, async (cut) => {
    const answer = await over({ body }, cut.app);
    expect(answer.status).toBe(503);
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'unavailable' } });
    expect(await kept()).toEqual([]);
  });
});

test('a fetch that fails is answered as such, and not tried again behind its client’s back', async () => {
  await t.pool.query('create sequence tries');
  await t.pool.query(
    "alter table sessions add constraint refused check (placement <> 'refused' or nextval('tries') < 0)",
  );
  try {
    const answer = await over({ body: { placement: 'refused' } });
    expect(answer.status).toBe(500);
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*' });
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'internal' } });
    expect((await t.pool.query('select last_value from tries')).rows).toEqual([{ last_value: '1' }]);
  } finally {
    await t.pool.query('alter table sessions drop constraint refused');
  }
  expect(await kept()).toEqual([]);
});

test('what is under way when the process stops is answered, and its connection ends', async () => {
  const stopping = await createTestApp({ databaseUrl: t.databaseUrl });
  await stopping.app.listen({ port: 0, host: '127.0.0.1' });
  const held = await holdTable(t.pool, 'sessions');
  const answer = over({ body: { placement: 'checkout' } }, stopping.app);
  await held.untilWaitedFor();
  const closed = stopping.close();
  await held.release();
  expect(await answer).toMatchObject({ status: 200, headers: { connection: 'close' } });
  await closed;
  expect(await kept()).toHaveLength(1);
});
