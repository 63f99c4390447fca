import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import cors from '@fastify/cors';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AppError, databaseUnavailable } from '../../../src/platform/errors.ts';
import type { App } from '../../../src/platform/http/app.ts';
import { registerHotBodyParsing } from '../../../src/platform/http/body-parsing.ts';
import { corsOptions } from '../../../src/platform/http/cors.ts';
import { registerErrorHandling, watchRoutes } from '../../../src/platform/http/error-handler.ts';
import { createFailureLimit } from '../../../src/platform/http/failure-limit.ts';
import { createHotRoutes, hotAnswer, registerRequestLog } from '../../../src/platform/http/hot-routes.ts';
import { serverTimeouts } from '../../../src/platform/http/idle-connections.ts';
import { createServer } from '../../../src/platform/http/server.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { countRequests, createMetrics } from '../../../src/platform/metrics/metrics.ts';
import { noTracing } from '../../../src/platform/tracing/tracing.ts';
import { portOf, requestOver } from '../../support/request.ts';
import { testConfig } from '../../support/test-config.ts';

/** Path of a route that echoes the request, or fails as requested. */
const path = '/direct/path';
let lines: Record<string, unknown>[] = [];
const sink = new Writable({
  write(chunk, _encoding, done) {
    lines.push(
      ...String(chunk)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
    done();
  },
});
const metrics = createMetrics({ isShown: true });
const failures = createFailureLimit(() => 0);
const logger = createLogger('debug', sink);
const app = createServer({ config: testConfig(), logger, failures });

beforeAll(async () => {
  const methodsAt = watchRoutes(app);
  await app.register(async (scope: App) => {
    registerHotBodyParsing(scope);
    const hot = createHotRoutes(scope, { logger, failures, metrics, tracing: noTracing });
    const serve = hot(scope);
    const handler = serve(path, async ({ method, query, body }) => {
      const { fail } = query as Record<string, unknown>;
      if (fail === 'database') throw databaseUnavailable();
      if (fail === 'unexpectedly') throw new Error('secret of the inside');
      if (fail === 'by-rule') throw new AppError('invalid_token');
      const echo = JSON.stringify({ method, query, body });
      return hotAnswer(200, { 'content-type': 'application/json' }, Buffer.from(echo));
    });
    scope.get(path, handler);
    scope.post('/direct/post', handler);
    await scope.register(async (noted: App) => {
      const broken = () => {
        throw new Error('notes are full');
      };
      const answer = hot(noted, broken);
      noted.get(
        '/direct/noted',
        answer('/direct/noted', async ({ query }) => {
          if ('fail' in (query as object)) throw new AppError('invalid_token');
          return hotAnswer(200, {}, Buffer.from('answered'));
        }),
      );
    });
  });
  await app.register(async (scope: App) => {
    registerErrorHandling(scope, failures, methodsAt);
    registerRequestLog(scope, logger);
    countRequests(scope, metrics);
    await scope.register(cors, corsOptions);
    scope.get('/framework', async () => 'framework');
  });
  await app.ready();
});
beforeEach(() => {
  lines = [];
});
afterAll(() => app.close());

test('the server uses the configured timeouts instead of the defaults of the framework', () => {
  const { requestTimeout, headersTimeout, keepAliveTimeout } = serverTimeouts;
  expect(app.server).toMatchObject({ requestTimeout, headersTimeout, keepAliveTimeout });
});

const ask = (url: string, method = 'GET') => requestOver(app, { url, method });

/** Sends raw bytes and reads until the connection closes. */
async function sendRaw(bytes: string): Promise<string> {
  const socket = connect(await portOf(app), '127.0.0.1');
  socket.end(bytes);
  return text(socket);
}

test.each([
  ['with a query', `${path}?t=a`, { t: 'a' }],
  ['without a query', path, {}],
  ['with a percent-encoded path', '/direct/%70ath?t=a', { t: 'a' }],
  ['with percent-encoded parameters', `${path}?%74=%61%2Fb+c`, { t: 'a/b c' }],
  ['with a malformed escape in the query', `${path}?x=%zz&t=a`, { x: '%zz', t: 'a' }],
  ['with a repeated parameter', `${path}?t=a&t=b`, { t: ['a', 'b'] }],
  ['in absolute form', `http://elsewhere.test${path}?t=a`, { t: 'a' }],
  [
    'in absolute form, with a path of the framework in its query',
    `HTTPS://x.test${path}?t=/framework`,
    { t: '/framework' },
  ],
])('a request %s is served with its parameters', async (_, url, query) => {
  const answer = await ask(url);
  expect([answer.statusCode, answer.json()]).toEqual([200, { method: 'GET', query }]);
});

test.each([['/direct/path/'], ['/Direct/path'], ['/direct%2Fpath'], ['/direct'], ['//direct/path']])(
  'no other path is served: %s',
  async (url) => {
    expect((await ask(url)).statusCode).toBe(404);
  },
);

test('all other paths, including malformed ones, are handled by the framework', async () => {
  expect((await ask('/framework')).body).toBe('framework');
  expect((await ask('/direct/%zz')).statusCode).toBe(400);
});

test('HEAD returns the headers of GET without a body', async () => {
  const [get, head] = [await ask(path), await ask(path, 'HEAD')];
  expect([head.statusCode, head.body]).toEqual([200, '']);
  expect(head.headers['content-length']).toBe(String(Number(get.headers['content-length']) + 1)); // it names its method
});

test('OPTIONS gets the preflight response of the framework', async () => {
  const preflight = await ask(path, 'OPTIONS');
  expect([preflight.statusCode, preflight.body]).toEqual([204, '']);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, POST, PUT, OPTIONS',
    'access-control-allow-headers': 'content-type, authorization, x-sdk-id, accept',
    'access-control-max-age': '86400',
  });
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'])('%s gets 405', async (method) => {
  const answer = await ask(`${path}?t=a`, method);
  expect([answer.statusCode, answer.headers.allow, answer.headers['access-control-allow-origin']]).toEqual([
    ...[405, 'GET, HEAD', '*'],
  ]);
  expect(answer.json().error.code).toBe('method_not_allowed');
});

test.each([
  ['database', 503, 'unavailable', '1'],
  ['unexpectedly', 500, 'internal', undefined],
  ['by-rule', 400, 'invalid_token', undefined],
])('a handler that fails (%s) returns the error format and reveals no internal details', async (fail, ...expected) => {
  const answer = await ask(`${path}?fail=${fail}`);
  expect([answer.statusCode, answer.json().error.code, answer.headers['retry-after']]).toEqual(expected);
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
  });
  expect(answer.body).not.toContain('secret of the inside');
  const id = answer.json().request_id;
  expect(lines.filter(({ requestId }) => requestId === id).map(({ msg, url }) => [msg, url])).toEqual([
    [answer.statusCode === 500 ? 'request failed' : 'request refused', `${path}?fail=…`],
    ['request', `${path}?fail=…`],
  ]);
});

test('each request writes one debug log line and is counted in the metrics by its path', async () => {
  metrics.registry.resetMetrics();
  await ask(`${path}?t=secret`);
  await ask('/framework');
  await ask(path, 'DELETE');
  const requests = lines.filter(({ msg }) => msg === 'request');
  expect(requests.map(({ method, url, status }) => [method, url, status])).toEqual([
    ['GET', `${path}?t=…`, 200],
    ['GET', '/framework', 200],
    ['DELETE', path, 405],
  ]);
  const counted = await metrics.registry.metrics();
  for (const [route, status] of [
    [path, '2xx'],
    ['unknown', '4xx'],
  ])
    expect(counted).toContain(`perkwire_http_request_duration_seconds_count{route="${route}",status="${status}"} 1\n`);
});

test('requests share the ID sequence of the framework', async () => {
  const first = (await ask(`${path}?fail=by-rule`)).json().request_id;
  const second = (await ask('/nowhere')).json().request_id;
  const third = (await ask(`${path}?fail=by-rule`)).json().request_id;
  expect([second, third].map((id) => id.split('-')[0])).toEqual([first.split('-')[0], first.split('-')[0]]);
  const [firstNumber, two, three] = [first, second, third].map((id) => Number.parseInt(id.split('-')[1], 36)) as [
    number,
    number,
    number,
  ];
  expect([two - firstNumber, three - two]).toEqual([1, 1]);
});

test('connections are kept or closed as the client requests, in HTTP/1.0 and with a body too', async () => {
  const get = `GET ${path}?t=a HTTP/1.1\r\nhost: x\r\n`;
  const withBody = `${get}content-length: 4\r\n\r\nbody`;
  const inChunks = `${get}transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`;
  const answers = await sendRaw(`${withBody}${inChunks}${get}connection: close\r\n\r\n`);
  expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
  expect(answers.match(/connection: (\S+)/gi)).toEqual([
    'Connection: keep-alive',
    'Connection: keep-alive',
    'Connection: close',
  ]);
  expect(await sendRaw(`GET ${path} HTTP/1.0\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n/,
  );
});

test('a request gets its response even if it cannot be logged', async () => {
  expect((await requestOver(app, { url: '/direct/noted' })).body).toBe('answered');
  expect((await requestOver(app, { url: '/direct/noted?fail=1' })).statusCode).toBe(400);
  logger.flush();
  const failures = lines.filter(({ msg }) => msg === 'recording request failed');
  expect(failures.reduce((sum, { repeated = 1 }) => sum + Number(repeated), 0)).toBe(2);
});

test('a client that disconnects before the response affects no other client', async () => {
  const socket = connect(await portOf(app), '127.0.0.1');
  socket.write(`GET ${path}?t=gone HTTP/1.1\r\nhost: x\r\n\r\n`);
  socket.resetAndDestroy();
  await once(socket, 'close');
  expect((await ask(path)).statusCode).toBe(200);
});
