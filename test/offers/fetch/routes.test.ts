import { request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { holdTable } from '../../support/locks.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { startRelay } from '../../tracking/journey.ts';

/** Fetch-offers over a socket, where the result depends on how a request arrives and when it fails. */

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { trustProxy: 1 } });
  await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => t.close());
beforeEach(() => t.pool.query('truncate sessions'));

type Sent = { query?: string; headers?: Record<string, string>; body?: unknown; method?: string };
type SocketResponse = { status: number; headers: Record<string, unknown>; body: string };

const path = '/native/v4/offers.json';
const bytesOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? {}));

const defaultQuery = (): string => `api_key=${t.publisher.key}`;

const fetchOver = (sent: Sent, app = t.app): Promise<SocketResponse> =>
  new Promise((resolve, reject) => {
    const { port } = app.server.address() as AddressInfo;
    const body = bytesOf(sent.body);
    const { 'transfer-encoding': chunked, ...sentHeaders } = sent.headers ?? {};
    const length = chunked === undefined ? { 'content-length': String(body.length) } : { 'transfer-encoding': chunked };
    const headers = { 'content-type': 'application/json', 'user-agent': 'tests', ...length, ...sentHeaders };
    const url = `${path}?${sent.query ?? defaultQuery()}`;
    const outgoing = send(
      { port, host: '127.0.0.1', path: url, method: sent.method ?? 'POST', headers, agent: false },
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

const sessions = async (): Promise<Record<string, unknown>[]> =>
  (await t.pool.query('select * from sessions order by created_at, id')).rows;

const body = { placement: 'Check out', ad_fp: 'f-1', pub_user_id: 'u-1', first_name: 'Zoë "<b>" 🎁' };

describe('a fetch succeeds with 200 for', () => {
  const cases: Record<string, () => Sent> = {
    'a chunked body': () => ({ headers: { 'transfer-encoding': 'chunked' }, body }),
    'a body that is not valid UTF-8': () => ({
      body: Buffer.from([...Buffer.from('{"placement":"a'), 0xff, 0xc3, ...Buffer.from('"}')]),
    }),
    'a content type with a charset': () => ({
      headers: { 'content-type': 'application/json; charset=UTF-8' },
      body,
    }),
    'a percent-encoded parameter': () => ({ query: `${defaultQuery()}&l%6fyaltyboost=1`, body }),
    'an unknown parameter': () => ({ query: `${defaultQuery()}&utm=1`, body }),
    'a key in the body': () => ({ query: '', body: { ...body, key: t.publisher.key } }),
    'a key in the header': () => ({ query: '', headers: { authorization: `Bearer ${t.publisher.key}` }, body }),
    'the SDK ID': () => ({ query: `api_key=${t.publisher.sdkId}`, body }),
    'an unknown theme': () => ({ body: { ...body, themeId: 99 } }),
    'a fingerprint of 256 emoji': () => ({ body: { ...body, ad_fp: '🎁'.repeat(256) } }),
  };
  test.each(Object.keys(cases))('%s', async (name) => {
    expect(await fetchOver((cases[name] as () => Sent)())).toMatchObject({ status: 200 });
    expect(await sessions()).toHaveLength(1);
  });
});

describe('a fetch is rejected without a session for', () => {
  const cases: [string, number, () => Sent][] = [
    ['two keys', 401, () => ({ query: `${defaultQuery()}&api_key=unknown`, body })],
    ['a numeric key', 401, () => ({ query: '', body: { ...body, key: 7 } })],
    ['an escaped __proto__ key', 400, () => ({ body: '{"placement":"p","\\u005f_proto__":{"x":1}}' })],
    ['a numeric body', 400, () => ({ body: '7' })],
    ['the PUT method', 405, () => ({ method: 'PUT', body })],
  ];
  test.each(cases)('%s', async (_name, status, sent) => {
    expect(await fetchOver(sent())).toMatchObject({ status });
    expect(await sessions()).toEqual([]);
  });
});

test("takes the end user's IP address from the trusted proxy", async () => {
  await fetchOver({ body: { ...body, ip: 'auto' }, headers: { 'x-forwarded-for': '1.1.1.1, 8.8.8.8' } });
  expect(await sessions()).toMatchObject([{ country: 'US' }]);
});

/**
 * Sends the pieces one after another.
 * @returns everything received until the connection ends
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

const wire = (sent: Sent, last: boolean): Buffer => {
  const bytes = bytesOf(sent.body);
  const head = [
    `POST ${path}?${sent.query ?? defaultQuery()} HTTP/1.1`,
    'host: t',
    'content-type: application/json',
    `content-length: ${bytes.length}`,
    ...(last ? ['connection: close'] : []),
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
};

test('reads the complete body even if it arrives byte by byte and splits characters', async () => {
  const bytes = wire({ body }, true);
  const cut = bytes.indexOf('first_name');
  const pieces = [bytes.subarray(0, cut), ...Array.from(bytes.subarray(cut), (byte) => Buffer.from([byte]))];
  expect(await inPieces(pieces)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(await sessions()).toMatchObject([{ custom: { first_name: body.first_name } }]);
});

test('answers valid and invalid pipelined requests in order', async () => {
  const sent: Sent[] = [
    { body },
    { body: {} },
    { body: { placement: 'second' } },
    { query: 'api_key=unknown', body },
    { body },
  ];
  const answer = await inPieces([Buffer.concat(sent.map((request, at) => wire(request, at === sent.length - 1)))]);
  expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
    '200',
    '400',
    '200',
    '401',
    '200',
  ]);
  expect(await sessions()).toHaveLength(3);
});

test('creates no session for a client that disconnects in the middle of its body', async () => {
  const bytes = wire({ body }, true);
  const { port } = t.app.server.address() as AddressInfo;
  await new Promise<void>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(bytes.subarray(0, bytes.length - 5), () => socket.destroy());
    socket.on('close', () => resolve());
  });
  expect((await fetchOver({ body })).status).toBe(200);
  expect(await sessions()).toHaveLength(1);
});

test("counts a request once against its key's rate limit", async () => {
  await t.pool.query('update api_keys set rate_limit_per_s = 2');
  const nowMs = Date.now();
  const limited = await createTestApp({ databaseUrl: t.databaseUrl, now: () => nowMs });
  try {
    await limited.app.listen({ port: 0, host: '127.0.0.1' });
    const statuses = [];
    for (let at = 0; at < 3; at++) statuses.push((await fetchOver({ body }, limited.app)).status);
    expect(statuses).toEqual([200, 200, 429]);
  } finally {
    await t.pool.query('update api_keys set rate_limit_per_s = null');
    await limited.close();
  }
});

/** Runs `use` with a listening app whose database has failed, after the app has noticed. */
async function withoutStore(databaseUrl: string, use: (cut: TestApp) => Promise<void>): Promise<void> {
  const relay = await startRelay(databaseUrl);
  const cut = await createTestApp({ databaseUrl: relay.url });
  try {
    await cut.app.listen({ port: 0, host: '127.0.0.1' });
    relay.cut();
    await expect.poll(() => cut.deps.dbHealth.isUp()).toBe(false);
    await use(cut);
  } finally {
    relay.restore();
    await cut.close();
    relay.close();
  }
}

test('a fetch without a database gets 503 with retry-after and writes no session', async () => {
  await withoutStore(t.databaseUrl, async (cut) => {
    const answer = await fetchOver({ body }, cut.app);
    expect(answer.status).toBe(503);
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'unavailable' } });
    expect(await sessions()).toEqual([]);
  });
});

test('a fetch gets 500 after one attempt if its session cannot be written', async () => {
  await t.pool.query('create sequence attempts');
  await t.pool.query(
    "alter table sessions add constraint refused check (placement <> 'refused' or nextval('attempts') < 0)",
  );
  try {
    const answer = await fetchOver({ body: { placement: 'refused' } });
    expect(answer.status).toBe(500);
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*' });
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'internal' } });
    expect((await t.pool.query('select last_value from attempts')).rows).toEqual([{ last_value: '1' }]);
  } finally {
    await t.pool.query('alter table sessions drop constraint refused');
  }
  expect(await sessions()).toEqual([]);
});

test('completes a fetch in progress at shutdown, then closes its connection', async () => {
  const stopping = await createTestApp({ databaseUrl: t.databaseUrl });
  await stopping.app.listen({ port: 0, host: '127.0.0.1' });
  const lock = await holdTable(t.pool, 'sessions');
  const answer = fetchOver({ body: { placement: 'checkout' } }, stopping.app);
  await lock.untilWaitedFor();
  const closed = stopping.close();
  await lock.release();
  expect(await answer).toMatchObject({ status: 200, headers: { connection: 'close' } });
  await closed;
  expect(await sessions()).toHaveLength(1);
});
