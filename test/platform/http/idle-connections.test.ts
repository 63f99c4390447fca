import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import type { App } from '../../../src/platform/http/app.ts';
import { serverTimeouts, shedIdleConnections } from '../../../src/platform/http/idle-connections.ts';
import { createTestApp } from '../../support/test-app.ts';

async function start(http: object = {}): Promise<{ app: App; port: number }> {
  const app = Fastify({ http }) as unknown as App;
  shedIdleConnections(app, 3);
  app.get('/', async () => 'here');
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, port: (app.server.address() as AddressInfo).port };
}

const open = async (app: App, port: number): Promise<Socket> => {
  const accepted = once(app.server, 'connection');
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await accepted;
  return socket;
};

test('closes connections without a request beyond the limit, but none with a request', async () => {
  const { app, port } = await start();
  const ended: string[] = [];
  for (const name of ['first', 'second']) {
    const socket = await open(app, port);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(socket, 'data');
    socket.once('close', () => ended.push(name));
  }
  const sending = await open(app, port);
  sending.write('GET / HTTP/1.1\r\n');
  const late = await open(app, port);
  await expect.poll(() => ended.sort()).toEqual(['first', 'second']);
  sending.end('host: x\r\nconnection: close\r\n\r\n');
  expect(await text(sending)).toMatch(/^HTTP\/1.1 200/);
  late.destroy();
  await app.close();
});

test('closes hundreds of connections with slow headers without delaying other requests', async () => {
  const { app, port } = await start({ ...serverTimeouts, headersTimeout: 200, connectionsCheckingInterval: 50 });
  const slow = Array.from({ length: 300 }, () => connect(port, '127.0.0.1'));
  for (const socket of slow) socket.write('GET / HTTP/1.1\r\nhost: x\r\n');
  await Promise.all(slow.map((socket) => once(socket, 'connect')));
  const answers = slow.map((socket) => text(socket));
  const agent = new Agent();
  const answer = await new Promise<number>((resolve) =>
    get({ port, host: '127.0.0.1', agent }, (incoming) => resolve(incoming.resume().statusCode ?? 0)),
  );
  expect(answer).toBe(200);
  expect(new Set((await Promise.all(answers)).map((text) => text.slice(0, 12)))).toEqual(new Set(['HTTP/1.1 408']));
  await app.close();
});

const head =
  'POST /native/v4/offers.json HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n';

test.each([
  ['its headers', 'GET /health/live HTTP/1.1\r\nx-name: ', 'a'],
  ['an endless series of headers', 'GET /health/live HTTP/1.1\r\n', 'a: b\r\n'],
  ['its body', `${head}\r\n{"a": "`, 'a'],
  ['the chunks of its body', `${head.replace('content-length: 9999', 'transfer-encoding: chunked')}\r\n`, '1\r\na\r\n'],
])('a connection that drips %s gets 408 and is closed, even if the client continues', async (_name, start, drip) => {
  const t = await createTestApp();
  Object.assign(t.app.server, { headersTimeout: 300, requestTimeout: 600 });
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = t.app.server.address() as AddressInfo;
  const accepted = once(t.app.server, 'connection') as Promise<[Socket]>;
  // Simulates an attacker that keeps its side of the connection half open.
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
  let answer = '';
  client.on('data', (chunk) => (answer += chunk));
  client.write(start);
  const dripping = setInterval(() => client.writable && client.write(drip), 20);
  const [socket] = await accepted;
  await expect.poll(() => socket.destroyed).toBe(true);
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  clearInterval(dripping);
  client.destroy();
  await t.close();
});
