import { once } from 'node:events';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import type { App } from '../../../src/platform/http/app.ts';
import { closeGracefully } from '../../../src/platform/http/graceful-close.ts';
import { holdTable } from '../../support/locks.ts';
import { createTestApp } from '../../support/test-app.ts';
import { browser, fetchOffers } from '../../tracking/journey.ts';

type TestRequest = { path: string; method?: string; body?: string };

/** Sends a request over a keep-alive connection. */
const ask = (app: App, agent: Agent, { path, method = 'GET', body }: TestRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { port } = app.server.address() as AddressInfo;
    const headers = { 'user-agent': browser, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    send({ port, host: '127.0.0.1', path, method, headers, agent }, resolve).on('error', reject).end(body);
  });

const fetching = {
  path: '/native/v4/offers.json?api_key=demo-key',
  method: 'POST',
  body: JSON.stringify({ placement: 'checkout' }),
};

test.each([
  ['a beacon', 'events', (pixel: string): TestRequest => ({ path: pixel })],
  ['a beacon with an unknown parameter', 'events', (pixel: string): TestRequest => ({ path: `${pixel}&x=1` })],
  ['a fetch', 'sessions', (): TestRequest => fetching],
])('%s in progress at shutdown gets its response and does not delay the shutdown', async (_name, table, askedOf) => {
  const t = await createTestApp();
  const agent = new Agent({ keepAlive: true });
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  const [offer] = (await fetchOffers(t)).offers;
  const lock = await holdTable(t.pool, table);
  const answer = ask(t.app, agent, askedOf(offer?.pixel.replace('http://perks.test', '') ?? ''));
  await lock.untilWaitedFor();
  const closed = t.app.close();
  await lock.release();
  const { statusCode, headers } = await answer.then((incoming) => incoming.resume());
  expect([statusCode, headers.connection]).toEqual([200, 'close']);
  await closed;
  agent.destroy();
  await t.close();
});

test('a response that has started at shutdown is completed, and its connection is closed', async () => {
  const app = Fastify() as unknown as App;
  closeGracefully(app, app);
  const answer = new PassThrough();
  app.get('/', (_request, reply) => reply.send(answer));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const agent = new Agent({ keepAlive: true });
  answer.write('begun');
  const incoming = await ask(app, agent, { path: '/' });
  expect(incoming.headers.connection).toBe('keep-alive');
  const { port } = app.server.address() as AddressInfo;
  const silent = connect(port, '127.0.0.1').on('error', () => {});
  await once(app.server, 'connection');
  const closed = app.close();
  await once(silent, 'close'); // connections that have sent no request are closed
  answer.end(' and ended');
  expect(await text(incoming)).toBe('begun and ended');
  await closed;
  agent.destroy();
});

test.each([
  ['has sent nothing', ''],
  ['has sent half a request', 'GET /health/live HTTP/1.1\r\nhost: x\r\n'],
  [
    'has sent half a body',
    'POST /native/v4/offers.json HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\ncontent-type: application/json\r\n\r\n{',
  ],
])('a connection that %s does not delay the shutdown', async (_name, sent) => {
  const t = await createTestApp();
  // Disable Node's timeouts, so that the connection would otherwise stay open forever.
  Object.assign(t.app.server, { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 });
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = t.app.server.address() as AddressInfo;
  const accepted = once(t.app.server, 'connection');
  const client = connect(port, '127.0.0.1').on('error', () => {});
  client.write(sent);
  await accepted;
  await t.close();
  client.destroy();
});

test('a request that arrives slowly at shutdown gets a response', async () => {
  const t = await createTestApp();
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  const client = connect((t.app.server.address() as AddressInfo).port, '127.0.0.1');
  const accepted = once(t.app.server, 'connection');
  client.write('GET /health/live HTTP/1.1\r\n');
  await accepted;
  const closed = t.app.close();
  await expect.poll(() => t.app.server.listening).toBe(false);
  client.write('host: x\r\n\r\n');
  expect(await text(client)).toMatch(/^HTTP\/1.1 200 OK/);
  await closed;
  await t.close();
});
