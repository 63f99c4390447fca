import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  ConnectionError,
  type FetchOffersOptions,
  fetchOffers,
  InvalidParameterError,
  ServerError,
} from '../../packages/client/src/index.ts';
import { closedUrl, type LocalServer, startServer } from './support.ts';

let answer = { status: 200, body: '{"data":{"offers":[],"count":0}}', headers: {} as Record<string, string> };
let server: LocalServer;

beforeEach(async () => {
  answer = { status: 200, body: '{"data":{"offers":[],"count":0}}', headers: {} };
  server = await startServer((response) => response.writeHead(answer.status, answer.headers).end(answer.body));
});
afterEach(() => server.close());

const call = (options: Record<string, unknown> = {}) =>
  fetchOffers({
    baseUrl: server.url,
    sdkId: '0123456789abcdef',
    payload: { placement: 'checkout' },
    ...options,
  } as FetchOffersOptions);

const failure = (options: Record<string, unknown> = {}): Promise<unknown> =>
  call(options).then(
    () => null,
    (err: unknown) => err,
  );

async function sent(options: Record<string, unknown> = {}) {
  await call(options);
  const [request] = server.received;
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

describe('the request', () => {
  test('is a JSON POST to the v4 path, with only the key in the query', async () => {
    const request = await sent();
    expect(request.method).toBe('POST');
    expect(request.url.pathname).toBe('/native/v4/offers.json');
    expect([...request.url.searchParams]).toEqual([['api_key', '0123456789abcdef']]);
    expect(request.headers['content-type']).toBe('application/json');
    expect(JSON.parse(request.body)).toEqual({ placement: 'checkout' });
  });

  test('contains the specified optional parameters, encoded', async () => {
    const request = await sent({
      sdkId: undefined,
      apiKey: 'k&y=1 ü',
      loyaltyboost: '2',
      creative: '0',
      campaignId: 17,
    });
    expect(Object.fromEntries(request.url.searchParams)).toEqual({
      api_key: 'k&y=1 ü',
      loyaltyboost: '2',
      creative: '0',
      campaignId: '17',
    });
  });

  test('is sent below the path of a base URL, with or without a trailing slash', async () => {
    expect((await sent({ baseUrl: `${server.url}/perks/` })).url.pathname).toBe('/perks/native/v4/offers.json');
  });

  test('adds dev to the payload in development mode', async () => {
    const request = await sent({ dev: true, payload: { placement: 'checkout', tier: 'gold', cart: { items: 2 } } });
    expect(JSON.parse(request.body)).toEqual({ dev: '1', placement: 'checkout', tier: 'gold', cart: { items: 2 } });
  });

  test.each([
    [undefined, '1'],
    ['0', '0'],
  ])('sends the dev value %j as %j in development mode', async (dev, expected) => {
    const request = await sent({ dev: true, payload: { placement: 'checkout', dev } });
    expect(JSON.parse(request.body).dev).toBe(expected);
  });

  test("contains the payload's user agent, or else the device's", async () => {
    expect(
      (await sent({ payload: { placement: 'x', ua: 'Phone/1' }, userAgent: 'Device/2' })).headers['user-agent'],
    ).toBe('Phone/1');
    await call({ userAgent: 'Device/2' });
    expect(server.received.at(-1)?.headers['user-agent']).toBe('Device/2');
  });

  test('is sent even if the user agent has characters that a header cannot contain', async () => {
    const request = await sent({ payload: { placement: 'x', ua: 'App\r\nx: y 购物' } });
    expect(request.headers['user-agent']).toBe('App??x: y ??');
    expect(request.headers.x).toBeUndefined();
    expect(JSON.parse(request.body).ua).toBe('App\r\nx: y 购物');
  });

  test('leaves the user agent to the browser on a page', async () => {
    vi.stubGlobal('document', {});
    const request = await sent({ userAgent: 'Device/2' }).finally(() => vi.unstubAllGlobals());
    expect(request.headers['user-agent']).not.toBe('Device/2');
  });
});

describe('rejects invalid parameters before anything is sent', () => {
  test.each([
    ['loyaltyboost', { loyaltyboost: '3' }],
    ['loyaltyboost', { loyaltyboost: 1 }],
    ['loyaltyboost', { loyaltyboost: '' }],
    ['creative', { creative: '2' }],
    ['creative', { creative: true }],
    ['baseUrl', { baseUrl: 'offers.example' }],
    ['baseUrl', { baseUrl: 'file:///etc' }],
    ['sdkId', { sdkId: undefined }],
    ['payload', { payload: 'checkout' }],
    ['payload', { payload: { placement: 'x', big: 1n } }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: Number.POSITIVE_INFINITY }],
  ])('%s: %o', async (parameter, options) => {
    const err = await failure(options);
    expect(err).toBeInstanceOf(InvalidParameterError);
    expect(err).toMatchObject({ kind: 'invalid_parameter', parameter });
    expect(server.received).toEqual([]);
  });
});

describe('the response', () => {
  test.each([200, 201, 299])('%i with a JSON object is a success', async (status) => {
    answer = { ...answer, status };
    expect(await call()).toEqual({ data: { offers: [], count: 0 } });
  });

  test.each([301, 400, 401, 404, 500, 503])('%i is a server error with that status', async (status) => {
    answer = { status, body: 'no JSON', headers: status === 301 ? { location: '/elsewhere' } : {} };
    const err = await failure();
    expect(err).toBeInstanceOf(ServerError);
    expect(err).toMatchObject({ kind: 'server_error', statusCode: status, code: null });
    expect((err as Error).message).toContain(String(status));
    expect(server.received).toHaveLength(1);
  });

  test("is a server error with the service's error code", async () => {
    answer = { ...answer, status: 401, body: '{"error":{"code":"unknown_key","message":"The API key is unknown."}}' };
    const err = await failure();
    expect(err).toMatchObject({ statusCode: 401, code: 'unknown_key' });
    expect((err as Error).message).toBe('The server responded with status 401: The API key is unknown.');
  });

  test.each(['', '[]', 'null', '"text"', '<html>', '{"data":'])(
    '200 with the body %o is a server error',
    async (body) => {
      answer = { ...answer, body };
      const err = await failure();
      expect(err).toBeInstanceOf(ServerError);
      expect(err).toMatchObject({ statusCode: 200, code: 'invalid_body' });
    },
  );
});

describe('a connection error', () => {
  test('is thrown with its cause if the connection is refused', async () => {
    const err = await failure({ baseUrl: await closedUrl() });
    expect(err).toBeInstanceOf(ConnectionError);
    expect(err).toMatchObject({ kind: 'connection_error', cause: expect.any(Error) });
    expect((err as Error).message).not.toContain('0123456789abcdef');
  });

  test('is thrown if the connection is closed during the body', async () => {
    const broken = await startServer((response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"data"');
      response.on('drain', () => {});
      setImmediate(() => response.destroy());
    });
    expect(await failure({ baseUrl: broken.url }).finally(broken.close)).toBeInstanceOf(ConnectionError);
  });

  test.each([
    ['before its headers', () => {}],
    [
      'in the middle of its body',
      (response: import('node:http').ServerResponse) => void response.writeHead(200).write('{'),
    ],
  ])('is thrown if the response stalls %s', async (_, begin) => {
    const silent = await startServer(begin);
    const err = await failure({ baseUrl: silent.url, timeoutMs: 80 }).finally(silent.close);
    expect(err).toBeInstanceOf(ConnectionError);
    expect(err).toMatchObject({ cause: { message: 'No complete response within 80 ms.' } });
  });

  test('closes a request that timed out', async () => {
    let resolveClosed = () => {};
    const closed = new Promise<void>((resolve) => {
      resolveClosed = resolve;
    });
    const silent = await startServer((response) => void response.on('close', resolveClosed));
    expect(await failure({ baseUrl: silent.url, timeoutMs: 50 })).toBeInstanceOf(ConnectionError);
    await closed;
    await silent.close();
  });

  test('is thrown in time even if fetch ignores its signal', async () => {
    const err = await failure({ timeoutMs: 20, fetch: () => new Promise(() => {}) });
    expect(err).toBeInstanceOf(ConnectionError);
  });
});
