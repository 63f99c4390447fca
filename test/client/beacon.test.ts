import { afterEach, beforeEach, expect, test } from 'vitest';
import { ConnectionError, fillCacheBuster, fireBeacon, ServerError } from '../../packages/client/src/index.ts';
import { closedUrl, type LocalServer, startServer } from './support.ts';

let server: LocalServer;
beforeEach(async () => {
  server = await startServer((response, { url }) =>
    response.writeHead(Number(url.searchParams.get('status') ?? 200)).end('x'),
  );
});
afterEach(() => server.close());

test('a beacon is a single GET with a random cache buster', async () => {
  await fireBeacon(`${server.url}/p.png?t=token&cbuster=%7Bcbuster%7D`, { userAgent: 'Phone/1' });
  expect(server.received).toHaveLength(1);
  const [request] = server.received;
  expect(request?.method).toBe('GET');
  expect(request?.url.searchParams.get('t')).toBe('token');
  expect(request?.url.searchParams.get('cbuster')).toMatch(/^[a-z0-9]{1,12}$/);
  expect(request?.headers['user-agent']).toBe('Phone/1');
});

test('every spelling of the cache buster token is replaced, and nothing else', () => {
  const random = () => 0.5;
  expect(fillCacheBuster('a?b=%7Bcbuster%7D&c=%7bcbuster%7d&d={cbuster}', random)).toBe('a?b=i&c=i&d=i');
  expect(fillCacheBuster('a?b={cb}$&', random)).toBe('a?b={cb}$&');
  expect(fillCacheBuster('{cbuster}', () => 0)).toBe('0');
});

test('a missing URL sends nothing', async () => {
  await fireBeacon('');
  expect(server.received).toEqual([]);
});

test('a beacon that was not recorded throws an error', async () => {
  await expect(fireBeacon(`${server.url}/?status=503`)).rejects.toMatchObject({
    constructor: ServerError,
    statusCode: 503,
  });
  await expect(fireBeacon(await closedUrl())).rejects.toBeInstanceOf(ConnectionError);
});
