import { type AddressInfo, connect } from 'node:net';
import { Type } from '@sinclair/typebox';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildApp } from '../../../src/app.ts';
import { AppError, type ErrorCode, errorStatuses } from '../../../src/platform/errors.ts';
import type { App } from '../../../src/platform/http/app.ts';
import { registerErrorHandling, toAppError, watchRoutes } from '../../../src/platform/http/error-handler.ts';
import { createFailureLimit } from '../../../src/platform/http/failure-limit.ts';
import { noNul } from '../../../src/platform/http/schemas.ts';
import { en } from '../../../src/platform/i18n/en.ts';
import type { Module } from '../../../src/runtime/module.ts';
import { requestOver } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
/** The same application, listening, with additional routes that fail. */
let app: FastifyInstance;
let port: number;

const inside = 'secret-inside-5f3a';

function registerFailing(scope: FastifyInstance): void {
  scope.get('/test/throws', async () => {
    throw Object.assign(new Error(inside), { statusCode: 502, detail: inside });
  });
  scope.get('/test/throws-text', async () => {
    throw inside;
  });
  scope.get('/test/database', async () => t.pool.query(`select * from "${inside}"`));
  scope.get('/test/teapot', async () => {
    throw Object.assign(new Error(inside), { statusCode: 418 });
  });
  scope.get(
    '/test/cannot-serialise',
    { schema: { response: { 200: { type: 'object', required: [inside] } } } },
    async () => ({}),
  );
  scope.post(
    '/test/fields',
    {
      schema: {
        querystring: Type.Object({ page: Type.Optional(Type.String({ pattern: '^[0-9]+$' })) }),
        body: Type.Object({
          name: Type.String(),
          flag: Type.Optional(Type.Union([Type.Literal('0'), Type.Literal(1), Type.Boolean()])),
          wait: Type.Optional(Type.Union([Type.Integer({ minimum: 10 }), Type.String()])),
          title: Type.Optional(Type.String({ pattern: '\\S' })),
          note: Type.Optional(Type.String({ pattern: noNul })),
          currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
        }),
      },
    },
    async () => ({}),
  );
}

beforeAll(async () => {
  // The failure limit's clock does not advance. The limit has its own tests, and this file causes fewer than 100
  // failures.
  t = await createTestApp();
  const failing: Module = {
    name: 'failing',
    rank: 1000,
    routes: async (scope) => registerFailing(scope as unknown as FastifyInstance),
  };
  const contributions = { ...t.contributions, modules: [...t.contributions.modules, failing] };
  app = (await buildApp({ contributions, deps: t.deps, serveApi: true })) as unknown as FastifyInstance;
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});
afterAll(async () => {
  await app?.close();
  await t?.close();
});

/** Checks that an error response has the standard form, and nothing else. */
function expectForm(
  answer: { statusCode: number; headers: Record<string, unknown>; body: string },
  status: number,
  code: ErrorCode,
): void {
  expect(answer.statusCode).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  const body = JSON.parse(answer.body);
  expect(body).toEqual({
    message: expect.stringMatching(/./),
    error: { code, message: body.message, ...(body.error.details === undefined ? {} : { details: expect.any(Array) }) },
    request_id: expect.stringMatching(/^[a-z0-9]+-[a-z0-9]+$/),
  });
}

/** Sends raw bytes, and reads the response until the connection ends. */
function raw(
  bytes: string | Buffer,
): Promise<{ statusCode: number; statusLine: string; headers: Record<string, string>; body: string }> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    // A reset after the response is no failure: the server closes connections that it could not read to the end.
    socket.on('error', (err) => (text === '' ? reject(err) : undefined));
    socket.on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n', 2);
      const [statusLine = '', ...lines] = head.split('\r\n');
      const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(/: */, 2)));
      resolve({ statusCode: Number(statusLine.split(' ')[1]), statusLine, headers, body });
    });
  });
}

describe('an unknown URL gets 404 in the standard error format', () => {
  test.each([
    '/',
    '/nowhere',
    '/native/v3/offers.json',
    '/native/v4/offers.json/',
    '/NATIVE/v4/offers.json',
    '/sdk/v4/usp/session',
    '/docs/nothing',
  ])('%s', async (url) => {
    const answer = await app.inject(url);
    expectForm(answer, 404, 'not_found');
    expect(answer.headers.allow).toBeUndefined();
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });
});

describe('a wrong method gets 405 with the allowed methods', () => {
  test.each([
    ['GET', '/native/v4/offers.json', 'POST'],
    ['DELETE', '/native/v2/offers.json?api_key=demo-key', 'POST'],
    ['POST', '/sdk/v2/impression/p.png', 'GET, HEAD'],
    ['DELETE', '/health/live', 'GET, HEAD'],
    ['DELETE', '/sdk/v4/usp/session/0190f5c4-1111-7222-8333-944444444444.json', 'PUT, GET, HEAD, POST'],
    ['GET', '/sdk/v4/usp/0190f5c4-1111-7222-8333-944444444444/5/select.json', 'POST'],
  ] as const)('%s %s', async (method, url, allow) => {
    const answer = await requestOver(app as unknown as App, { method, url });
    expectForm(answer, 405, 'method_not_allowed');
    expect(String(answer.headers.allow).split(', ').sort()).toEqual(allow.split(', ').sort());
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  test('including an unknown method', async () => {
    const answer = await raw('PURGE /native/v4/offers.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expectForm(answer, 405, 'method_not_allowed');
    expect(answer.headers.allow).toBe('post');
  });
});

describe('data that is not HTTP gets 400 in the error format, and the connection is closed', () => {
  test.each<[string, string | Buffer]>([
    ['an invalid method', 'HELLO\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost: x\r\nnonsense\r\n\r\n'],
    ['a header with a NUL character', 'GET / HTTP/1.1\r\nhost: x\r\na: \0\r\n\r\n'],
    ['a TLS handshake', Buffer.from('1603010200010001fc0303', 'hex')],
    ['two content lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx'],
    [
      'both a content length and chunked encoding',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('%s', async (_name, bytes) => {
    const answer = await raw(bytes);
    expectForm(answer, 400, 'malformed_request');
    expect(answer.statusLine).toBe('HTTP/1.1 400 Bad Request');
    expect(answer.headers.connection).toBe('close');
  });
});

test('headers over the size limit get 431 in the error format', async () => {
  const answer = await raw(`GET /health/live HTTP/1.1\r\nhost: x\r\ncookie: ${'x'.repeat(20_000)}\r\n\r\n`);
  expectForm(answer, 431, 'headers_too_large');
  expect(answer.statusLine).toBe('HTTP/1.1 431 Request Header Fields Too Large');
});

describe('a request that cannot be parsed gets a response in the error format', () => {
  test('a URL with an invalid percent escape gets 400', async () => {
    expectForm(await app.inject('/native/%zz'), 400, 'malformed_request');
    expectForm(await app.inject('/images/%c0%af.png'), 400, 'malformed_request');
  });

  test('a path segment that is too long gets 414', async () => {
    expectForm(await app.inject(`/privacy/${'x'.repeat(500)}`), 414, 'uri_too_long');
  });

  test('an unknown content encoding gets 415', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'zstd' };
    const answer = await app.inject({
      method: 'POST',
      url: '/native/v4/offers.json?api_key=demo-key',
      headers,
      payload: '{}',
    });
    expectForm(answer, 415, 'unsupported_media_type');
  });

  test('invalid fields are listed by JSON pointers, each with its problem', async () => {
    const send = async (payload: object, query = '') =>
      (await app.inject({ method: 'POST', url: `/test/fields${query}`, payload })).json().error.details;
    expect(await send({ name: 5 })).toEqual([{ path: '/name', message: 'The value must be text.' }]);
    expect((await send({ name: 'n' }, '?page=x'))[0].path).toBe('/querystring/page');
    expect((await send({}))[0]).toEqual({ path: '/name', message: 'This field is required.' });
    expect(await send({ name: 'n', flag: '2' })).toEqual([
      { path: '/flag', message: 'The value must be one of: "0", 1. Alternatively: The value must be true or false.' },
    ]);
    expect(await send({ name: 'n', wait: 5 })).toEqual([
      { path: '/wait', message: 'The value must be 10 or more. Alternatively: The value must be text.' },
    ]);
    const problems = { title: [' ', 'not be blank'], note: ['\0', 'not contain the character U+0000'] };
    for (const [field, [value, problem]] of Object.entries(problems))
      expect(await send({ name: 'n', [field]: value })).toEqual([
        { path: `/${field}`, message: `The value must ${problem}.` },
      ]);
    expect(await send({ name: 'n', currency: 'euro' })).toEqual([
      { path: '/currency', message: 'The value must be a currency code, such as USD.' },
    ]);
  });
});

describe('an internal error gets 500 and reveals no internal details', () => {
  test.each(['/test/throws', '/test/throws-text', '/test/database', '/test/cannot-serialise'])('%s', async (url) => {
    const answer = await app.inject(url);
    expectForm(answer, 500, 'internal');
    expect(answer.json().message).toBe(en.apiTexts.internal);
    expect(JSON.stringify(answer.headers) + answer.body).not.toContain(inside);
    expect(answer.body).not.toMatch(/stack|\.ts|node_modules|relation|at /);
  });

  test('a client error from a plugin keeps its status class but not its message', async () => {
    const answer = await app.inject('/test/teapot');
    expectForm(answer, 400, 'malformed_request');
    expect(answer.body).not.toContain(inside);
  });
});

test('every error in the catalogue has its status and message and is not cached', async () => {
  const bare = Fastify();
  registerErrorHandling(
    bare,
    createFailureLimit(() => 0),
    watchRoutes(bare),
  );
  bare.get('/:code', async (request) => {
    throw new AppError((request.params as { code: ErrorCode }).code, { retryAfterS: 7 });
  });
  for (const [code, status] of Object.entries(errorStatuses) as [ErrorCode, number][]) {
    const answer = await bare.inject(`/${code}`);
    expectForm(answer, status, code);
    expect(answer.json().message).toBe(en.apiTexts[code]);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'retry-after': '7' });
  }
  await bare.close();
});

test('an unreachable database gets 503 with retry-after, and an invalid statement 500', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', '08006', '53300', '57P01', '57P03']) {
    expect(toAppError(Object.assign(new Error('x'), { code }))).toMatchObject({ code: 'unavailable', retryAfterS: 1 });
  }
  expect(toAppError(new Error('timeout exceeded when trying to connect'))).toMatchObject({
    code: 'unavailable',
    retryAfterS: 1,
  });
  expect(toAppError(new Error('Connection terminated unexpectedly'))).toMatchObject({ code: 'unavailable' });
  for (const code of ['23505', '42601', '22P02', '40P01']) {
    expect(toAppError(Object.assign(new Error('connection'), { code }))).toMatchObject({ code: 'internal' });
  }
});
