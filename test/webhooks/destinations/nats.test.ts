import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { hasNats, type NatsServers, startNats } from '../../support/nats.ts';
import { endChild, freePort } from '../../support/server-process.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { attemptsOf, createParts, deliveryOf } from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

const natsTest = test.skipIf(!hasNats);

let t: WebhooksApp;
let me: Manager;
let servers: NatsServers;
let connection: NatsConnection;
let address: string;
let folder: string;
const parts = createParts(() => t);
beforeAll(async () => {
  if (!hasNats) return;
  t = await createWebhooksApp();
  folder = await mkdtemp(join(tmpdir(), 'perkwire-nats-'));
  servers = await startNats();
  address = servers.url.replace('nats://', '');
  connection = await connect({ servers: servers.url, reconnectTimeWait: 50, maxReconnectAttempts: -1 });
  await (await jetstreamManager(connection)).streams.add({ name: 'ORDERS', subjects: ['orders.>'] });
}, timeLimit(60_000));
afterEach(() => hasNats && parts.end());
afterAll(async () => {
  if (!hasNats) return;
  await connection.close();
  await t.close();
  await servers.close();
  await rm(folder, { recursive: true, force: true });
});

async function addNats(destination: object = {}, settings: object = {}): Promise<{ id: number; secret: string }> {
  me = await addManager(t);
  const nats = { kind: 'nats', address, subject: 'orders.new', tls: false, ...destination };
  const body = { destination: nats, events: ['usp.selection'], retry_steps_s: [0, 1, 1, 1, 1, 1, 1, 1], ...settings };
  const answer = await me.call('POST', '/webhook-endpoints', body);
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json().data;
}

type Received = { id: string; body: string; headers: Record<string, string> };

async function messages(): Promise<Received[]> {
  const manager = await jetstreamManager(connection);
  const { state } = await manager.streams.info('ORDERS');
  const stream = await jetstream(connection).streams.get('ORDERS');
  const received: Received[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const message = await stream.getMessage({ seq });
    if (message === null) continue;
    const headers = Object.fromEntries([...(message.header ?? [])].map(([name, [value = '']]) => [name, value]));
    received.push({ id: headers['Nats-Msg-Id'] ?? '', body: new TextDecoder().decode(message.data), headers });
  }
  return received;
}

natsTest('a delivery is published to the stream with the bytes, headers and signature of a webhook', async () => {
  const { secret } = await addNats({}, { headers: { 'x-team': 'perks' } });
  await parts.dispatcher();
  const payload = Buffer.from('{ "body" : {"pub_user_id":"ü"} }');
  const id = await me.enqueueDelivery({ payload });
  await vi.waitFor(async () => expect(await deliveryOf(t, id)).toMatchObject({ status: 'delivered', attempts: 1 }));
  const [message] = (await messages()).slice(-1);
  expect(message).toMatchObject({
    id: `msg_${id.replaceAll('-', '')}`,
    body: payload.toString(),
    headers: { 'perkwire-event': 'usp.selection', 'x-team': 'perks', 'content-type': 'application/json' },
  });
  expect(new Webhook(secret).verify(payload, message?.headers as Record<string, string>)).toBeDefined();
  const [attempt] = await attemptsOf(t, id);
  expect(attempt).toMatchObject({ outcome: 'delivered', status_code: 200, remote_address: '127.0.0.1' });
  expect(JSON.parse(String(attempt?.response_body))).toMatchObject({ stream: 'ORDERS', duplicate: false });
});

natsTest(
  'a transformed delivery is published with the transformed body, headers and a signature of that body',
  async () => {
    const transformation = { body: '{ "user": body.pub_user_id }', headers: '{ "x-event": $event }' };
    const { id: endpointId, secret } = await addNats({}, { transformation });
    await parts.dispatcher();
    const id = await me.enqueueDelivery({ payload: Buffer.from('{ "body" : {"pub_user_id":"ü"} }') });
    await vi.waitFor(async () => expect(await deliveryOf(t, id)).toMatchObject({ status: 'delivered' }));
    const [message] = (await messages()).slice(-1);
    expect(message).toMatchObject({ body: '{"user":"ü"}', headers: { 'x-event': 'usp.selection' } });
    expect(new Webhook(secret).verify(message?.body ?? '', message?.headers ?? {})).toEqual({ user: 'ü' });
    const log = (await me.call('GET', `/deliveries/${id}`)).json();
    expect(log.data.attempts[0].request.transformed_body).toBe('{"user":"ü"}');
    const test = await me.call('POST', `/webhook-endpoints/${endpointId}/test`, {});
    expect(test.json()).toMatchObject({ data: { delivered: true } });
    expect((await messages()).at(-1)?.body).toMatch(/^\{"user":"[^"]+"\}$/);
  },
);

natsTest(
  'a server that is down is retried, and each message is stored once after it is back',
  async () => {
    await addNats();
    await parts.dispatcher();
    await servers.kill(0);
    const ids = await Promise.all(Array.from({ length: 2 }, () => me.enqueueDelivery()));
    await vi.waitFor(async () => {
      for (const id of ids) expect((await attemptsOf(t, id))[0]).toMatchObject({ error_class: 'connect' });
    }, timeLimit(10_000));
    await servers.start(0);
    await vi.waitFor(async () => {
      for (const id of ids) expect(await deliveryOf(t, id)).toMatchObject({ status: 'delivered' });
    }, timeLimit(20_000));
    const stored = (await vi.waitFor(messages, timeLimit(10_000))).map(({ id }) => id);
    for (const id of ids)
      expect(stored.filter((messageId) => messageId === `msg_${id.replaceAll('-', '')}`)).toHaveLength(1);
  },
  timeLimit(40_000),
);

natsTest('a repeated attempt of a delivery is dropped by the stream', async () => {
  await addNats();
  await parts.dispatcher();
  const id = await me.enqueueDelivery();
  await vi.waitFor(async () => expect(await deliveryOf(t, id)).toMatchObject({ status: 'delivered' }));
  await me.call('POST', `/deliveries/${id}/replay`);
  await vi.waitFor(async () => expect(await attemptsOf(t, id)).toHaveLength(2));
  await vi.waitFor(async () => expect(await deliveryOf(t, id)).toMatchObject({ status: 'delivered' }));
  expect(JSON.parse(String((await attemptsOf(t, id))[1]?.response_body))).toMatchObject({ duplicate: true });
  expect((await messages()).filter((message) => message.id === `msg_${id.replaceAll('-', '')}`)).toHaveLength(1);
});

natsTest('a subject without a stream is reported as such', async () => {
  const { id } = await addNats({ subject: 'nobody' });
  const test = await me.call('POST', `/webhook-endpoints/${id}/test`, {});
  expect(test.json()).toMatchObject({
    data: { delivered: false, status: 404, body: 'No stream accepts messages for this subject.' },
  });
});

natsTest(
  'a wrong password is answered with 401, and a forbidden subject with 403',
  async () => {
    const config = join(folder, 'nats.conf');
    const port = await freePort();
    const user = '{user: shop, password: right-password, permissions: {publish: {deny: "orders.secret"}}}';
    await writeFile(
      config,
      `listen: 127.0.0.1:${port}\njetstream {store_dir: "${folder}"}\nauthorization {users: [${user}]}`,
    );
    const child = spawn('nats-server', ['-c', config], { stdio: 'ignore' });
    const own = { address: `127.0.0.1:${port}`, user: 'shop' };
    const testOf = async (destination: object) => {
      const { id } = await addNats({ ...own, ...destination });
      return async () => (await me.call('POST', `/webhook-endpoints/${id}/test`, { deadline_ms: 2000 })).json().data;
    };
    try {
      const wrong = await testOf({ password: 'wrong-password' });
      await vi.waitFor(
        async () => expect(await wrong()).toMatchObject({ delivered: false, status: 401 }),
        timeLimit(9000),
      );
      const forbidden = await testOf({ password: 'right-password', subject: 'orders.secret' });
      expect(await forbidden()).toMatchObject({ delivered: false, status: 403 });
      const right = await testOf({ password: 'right-password' });
      expect(await right()).toMatchObject({ delivered: false, status: 404 });
    } finally {
      await endChild(child, 'SIGKILL');
    }
  },
  timeLimit(20_000),
);

natsTest('a server that accepts connections but says nothing runs into the timeout', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { id } = await addNats({ address: `127.0.0.1:${(silent.address() as AddressInfo).port}` });
  const test = await me.call('POST', `/webhook-endpoints/${id}/test`, { deadline_ms: 1000 });
  expect(test.json()).toMatchObject({ data: { delivered: false, error: { class: 'timeout' } } });
  silent.close();
});

natsTest('the test button publishes a sample', async () => {
  const { id } = await addNats();
  const test = await me.call('POST', `/webhook-endpoints/${id}/test`, {});
  expect(test.json()).toMatchObject({ data: { delivered: true, status: 200 } });
  expect((await messages()).at(-1)?.headers).toMatchObject({ 'perkwire-test': '1' });
});
