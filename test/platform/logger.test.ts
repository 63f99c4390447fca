import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { createModules } from '../../src/modules.ts';
import type { RequestLog } from '../../src/offers/request-log/request-log.ts';
import { createLogger, loggedUrl } from '../../src/platform/logger.ts';
import type { Platform } from '../../src/platform/module.ts';
import type { Module } from '../../src/runtime/module.ts';
import { cloneDatabase } from '../support/database.ts';
import { requestOver } from '../support/request.ts';
import { testConfig } from '../support/test-config.ts';

/** Creates a sink that collects everything logged since the last `clear`. */
function createSink() {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return {
    stream,
    text: () => text,
    lines: (): Record<string, unknown>[] => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])),
    clear: () => {
      text = '';
    },
  };
}

const sink = createSink();
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let deps: Platform['deps'];
let closeDeps: () => Promise<void>;
let app: FastifyInstance;
let requestLog: RequestLog;
/** Status codes of responses since the current test started. */
let statuses: number[] = [];

beforeAll(async () => {
  database = await cloneDatabase();
  const modules = await createModules({
    demo: false,
    pid: 4242,
    config: testConfig(),
    databaseUrl: database.url,
    logger: createLogger('trace', sink.stream),
    now: Date.now,
  });
  deps = modules.platform.deps;
  closeDeps = modules.close;
  ({ requestLog } = modules.offers);
  const failing: Module = {
    name: 'failing',
    rank: 1000,
    prepare: async (open) =>
      void open.addHook('onSend', async (_request, reply) => void statuses.push(reply.statusCode)),
    routes: async (scope) => {
      scope.get('/test/broken', async () => {
        throw new Error('boom');
      });
      scope.get('/test/waits', async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        signal.throwIfAborted();
      });
      scope.get('/test/violation', async () =>
        deps.pool.query("update offers set title = repeat('x', 91), mini_text = 'pub-user-77' where id = 1"),
      );
    },
  };
  const contributions = { ...modules.contributions, modules: [...modules.contributions.modules, failing] };
  app = (await buildApp({ contributions, deps, serveApi: true })) as unknown as FastifyInstance;
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await app?.close();
  await closeDeps?.();
  await database?.drop();
});
beforeEach(() => sink.clear());

/** Values that must never appear in a log, wherever a client sends them. */
const secrets = {
  key: 'demo-key',
  user: 'pub-user-77',
  fingerprint: 'finger-88',
  address: '203.0.113.77',
  agent: 'Agent-Of-A-Person/9',
  attribute: 'ada.lovelace',
};

const fetchOffers = (query: string, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?${query}`,
    headers: { 'user-agent': secrets.agent, 'x-forwarded-for': secrets.address, ...headers },
    payload: {
      placement: 'checkout',
      pub_user_id: secrets.user,
      ad_fp: secrets.fingerprint,
      ip: secrets.address,
      last_name: secrets.attribute,
      key: secrets.key,
    },
  });

function expectNoSecrets(...more: string[]): void {
  for (const secret of [...Object.values(secrets), ...more]) expect(sink.text()).not.toContain(secret);
}

describe('log lines at trace level contain no key, token, user, address or payload', () => {
  test('for successful requests', async () => {
    const answer = await fetchOffers(`api_key=${secrets.key}&loyaltyboost=1&pub_user_id=${secrets.user}`, {
      authorization: `Bearer ${secrets.key}`,
    });
    expect(answer.statusCode).toBe(200);
    const { offers } = answer.json().data;
    const token = new URL(offers[0].pixel).searchParams.get('t') as string;
    for (const url of [
      offers[0].pixel,
      offers[0].click_url,
      offers[0].beacons.close,
      offers[0].beacons.no_thanks_click,
    ]) {
      expect((await requestOver(app, { url, headers: { 'user-agent': secrets.agent } })).statusCode).toBeLessThan(400);
    }
    // The request is logged, with everything that may be logged.
    expect(sink.lines()).toContainEqual(
      expect.objectContaining({
        msg: 'request',
        method: 'POST',
        url: '/native/v4/offers.json?api_key=…&loyaltyboost=1&pub_user_id=…',
        status: 200,
      }),
    );
    expect(sink.text()).toContain('/sdk/v2/impression/p.png?t=…');
    expectNoSecrets(token, token.slice(0, 20));
  });

  test('for rejected requests', async () => {
    const answers = [
      await fetchOffers('api_key=wrong-key-55', { authorization: 'Bearer wrong-key-66' }),
      await fetchOffers(`api_key=${secrets.key}&loyaltyboost=7`),
      await app.inject(`/nowhere?api_key=${secrets.key}`),
      await app.inject('/images/%'),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([401, 400, 404, 400]);
    expect((await app.inject(`/sdk/offer-click?t=${secrets.key}`)).statusCode).toBe(400); // an image for browsers
    // At the default level (info), the request can be found by the ID that was reported to the client.
    const refusals = sink.lines().filter(({ level, msg }) => level === 30 && msg === 'request refused');
    expect(refusals.map(({ requestId, status }) => [requestId, status])).toEqual(
      answers.map((answer) => [answer.json().request_id, answer.statusCode]),
    );
    expect(sink.lines().filter((line) => line.msg === 'request').length).toBeGreaterThanOrEqual(4);
    expectNoSecrets('wrong-key-55', 'wrong-key-66');
  });

  test.each([
    ['a key without a parameter name', `/nowhere?${secrets.key}`],
    ['an encoded equals sign', `/nowhere?api_key%3D${secrets.key}`],
    ['a second question mark', `/nowhere?loyaltyboost=1?api_key=${secrets.key}`],
    ['a semicolon', `/nowhere?country=US;api_key=${secrets.key}`],
    ['an ampersand instead of the question mark', `/nowhere&api_key=${secrets.key}`],
    ['an encoded question mark', `/nowhere%3Fapi_key=${secrets.key}`],
    ['an absolute URL with a user', `http://${secrets.key}@host/nowhere`],
  ])('for malformed URLs: %s', async (_name, url) => {
    const { port } = app.server.address() as { port: number };
    await new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.write(`GET ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
      );
      socket
        .on('error', reject)
        .on('close', () => resolve())
        .resume();
    });
    await expect.poll(() => sink.lines().filter((line) => line.msg === 'request')).toHaveLength(1);
    expectNoSecrets();
  });

  test('for failures', async () => {
    const headers = { authorization: `Bearer ${secrets.key}`, 'user-agent': secrets.agent };
    const answer = await app.inject({
      url: `/test/broken?api_key=${secrets.key}&pub_user_id=${secrets.user}`,
      headers,
    });
    expect(answer.statusCode).toBe(500);
    expect(sink.lines()).toContainEqual(
      expect.objectContaining({
        level: 50,
        msg: 'request failed',
        url: '/test/broken?api_key=…&pub_user_id=…',
        err: expect.objectContaining({ message: 'boom', stack: expect.stringContaining('logger.test.ts') }),
      }),
    );
    expectNoSecrets();
  });

  test('for database failures whose messages quote the row', async () => {
    expect((await app.inject('/test/violation')).statusCode).toBe(500);
    const failure = sink.lines().find((line) => line.msg === 'request failed');
    expect(failure?.err).toMatchObject({ code: '23514', constraint: 'offers_title_check' });
    expectNoSecrets();
  });
});

describe('a client that disconnects before its response does not count as a failure', () => {
  const key = `Authorization: Bearer ${secrets.key}`;
  const half = `Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"placement":`;
  test.each([
    ['while its request is processed', 'GET /test/waits HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['while an image loads', 'GET /images/1.png?width=30 HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['in the middle of a fetch body', `POST /native/v4/offers.json HTTP/1.1\r\nhost: x\r\n${key}\r\n${half}`],
    ['in the middle of an update body', `POST /manage/v1/advertisers HTTP/1.1\r\nhost: x\r\n${key}\r\n${half}`],
  ])('%s', async (_when, request) => {
    const { port } = app.server.address() as { port: number };
    await requestLog.write();
    await deps.pool.query('delete from live_calls');
    statuses = [];
    const begun = once(app.server, 'request');
    const socket = connect(port, '127.0.0.1', () => socket.write(request)).on('error', () => {});
    await begun;
    socket.resetAndDestroy();
    const ended = () => sink.lines().filter(({ msg }) => /^request|^client closed the connection$/.test(String(msg)));
    await expect.poll(() => ended().length).toBeGreaterThan(0);
    // Serve another request, so that everything from the first one has been logged.
    await app.inject('/health/live');
    expect(sink.lines().filter(({ level }) => Number(level) >= 40)).toEqual([]);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    await requestLog.write();
    const { rows } = await deps.pool.query("select call from live_calls where (call::jsonb ->> 'status')::int >= 499");
    expect(rows).toEqual([]);
  });
});

test('sensitive fields are removed even if a log call contains them', () => {
  const logger = createLogger('trace', sink.stream);
  const { key: secret } = secrets;
  logger.info(
    { authorization: secret, headers: { authorization: secret }, api_key: secret, key: secret, secret },
    'one',
  );
  logger.info(
    {
      ip: secret,
      payload: { secret },
      body: secret,
      req: { method: 'GET', url: `/x?t=${secret}`, headers: { secret } },
    },
    'two',
  );
  logger.child({ api_key: secret }).info({}, 'three');
  expect(sink.lines().map((line) => line.msg)).toEqual(['one', 'two', 'three']);
  expect(sink.text()).not.toContain(secret);
});

test('lines are JSON without host and process ID, and lines below the log level are not written', () => {
  const logger = createLogger('warn', sink.stream);
  logger.info({}, 'quiet');
  logger.warn({ part: 'x' }, 'loud');
  expect(sink.lines()).toEqual([{ level: 40, time: expect.any(Number), part: 'x', msg: 'loud' }]);
});

test.each([
  ['/health/live', '/health/live'],
  ['/images/5.png?width=200&height=100&aspect_ratio=16:9', '/images/5.png?width=200&height=100&aspect_ratio=16:9'],
  ['/images/5.png?aspect_ratio=16%3A9', '/images/5.png?aspect_ratio=16%3A9'],
  ['/x.json?limit=5&cursor=abc', '/x.json?limit=5&cursor=…'],
  ['/x.json?country=averylongvaluethatisnocountry', '/x.json?country=…'],
  [
    '/sdk/v4/usp/0190f5c4-1111-7222-8333-944444444444/12/select.json',
    '/sdk/v4/usp/0190f5c4-1111-7222-8333-944444444444/12/select.json',
  ],
  [`/dashboard/start/${'a-'.repeat(21)}b`, '/dashboard/start/…'],
])('the URL %s is logged as %s', (url, expected) => {
  expect(loggedUrl(url)).toBe(expected);
});
