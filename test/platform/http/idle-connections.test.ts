import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { serverTimeouts, shedIdleConnections } from '../../../src/platform/http/idle-connections.ts';
import type { App } from '../../../src/platform/ports.ts';

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

test('beyond a crowd, connections without a request are ended, and those with one are not', async () => {
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

test('hundreds of connections that send their headers too slowly end, and delay no other request', async () => {
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
  expect(new Set((await Promise.all(answers)).map((each) => each.slice(0, 12)))).toEqual(new Set(['HTTP/1.1 408']));
  await app.close();
});
