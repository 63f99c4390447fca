import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection, nkeys } from '@nats-io/transport-node';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { answerOfFailure, promiseOf } from '../../../src/webhooks/destinations/broker.ts';
import { connectToNats, createNatsParser } from '../../../src/webhooks/destinations/nats.ts';
import { hasNats, type NatsServers, startNats } from '../../support/nats.ts';
import { endChild, freePort } from '../../support/server-process.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { selfSigned } from '../dispatcher/send/certificate.ts';
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

natsTest('the test button publishes a sample', async () => {
  const { id } = await addNats();
  const test = await me.call('POST', `/webhook-endpoints/${id}/test`, {});
  expect(test.json()).toMatchObject({ data: { delivered: true, status: 200 } });
  expect((await messages()).at(-1)?.headers).toMatchObject({ 'perkwire-test': '1' });
});

const info = 'INFO {"max_payload":1000000,"headers":true}\r\n';

/** Starts a server that a tenant controls, and connects to it. `ended` resolves when the server's socket has ended. */
async function hostile(onSocket: (socket: Socket) => void, settings: object = {}, timeoutMs = 300) {
  const ended = promiseOf<void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('close', () => ended.resolve());
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`nats://nats.test:${port}/orders.new`);
  const addresses = [{ address: '127.0.0.1', family: 4 }] as const;
  const base = { url, addresses, isTls: false, secrets: {}, timeoutMs };
  const opened = connectToNats({ ...base, ...settings }).catch(answerOfFailure);
  const message = { url, id: 'msg_1', orderKey: '', headers: {}, body: Buffer.from('{}'), timeoutMs };
  return { opened, message, ended: ended.promise.finally(() => server.close()) };
}

/** Connects to a server that greets properly and then answers each message with `reply`. */
async function hostileReply(reply: (inbox: string) => string | Buffer) {
  const { opened, message, ended } = await hostile(
    (socket) => {
      socket.write(info);
      socket.on('data', (chunk) => {
        const text = chunk.toString();
        if (text.startsWith('CONNECT')) socket.write('PONG\r\n');
        for (const [, inbox = ''] of text.matchAll(/HPUB \S+ (\S+)/g)) socket.write(reply(inbox));
      });
    },
    {},
    5000,
  );
  const client = await opened;
  if ('kind' in client) throw new Error('not connected');
  return { client, message, ended };
}

test('the connection to a server that sends nothing, or sends it too late, is closed at the timeout', async () => {
  for (const greet of [() => {}, (socket: Socket) => void sleep(600).then(() => socket.write(info))]) {
    const { opened, ended } = await hostile(greet);
    expect(await opened).toMatchObject({ kind: 'error', class: 'timeout' });
    await ended;
  }
});

test('a connection is closed at once if its server never ends the first line or sends a huge message', async () => {
  const endless = await hostile((socket) => void socket.write(Buffer.alloc(8_000_000, 'I')), {}, 60_000);
  expect(await endless.opened).toMatchObject({ kind: 'error', class: 'protocol' });
  await endless.ended;
  for (const size of [50_000_000, 65_535]) {
    const { client, message, ended } = await hostileReply((inbox) => `MSG ${inbox} 1 ${size}\r\n${'x'.repeat(65_536)}`);
    expect(await client.publish(message)).toMatchObject({ kind: 'error', class: 'protocol' });
    expect(client.isOpen()).toBe(false);
    await ended;
  }
});

test('whatever a server sends, each message gets a result', async () => {
  const contents = ['null', '5', '[]', '{}', '{"stream":5}', '{"stream":"A","error":null}', '{"error":{}}', 'x', ''];
  const own = await hostileReply((inbox) => {
    const content = contents[Number(inbox.split('.').at(-1)) % contents.length] ?? '';
    return `MSG ${inbox} 1 ${content.length}\r\n${content}\r\n`;
  });
  for (let index = 0; index < contents.length; index++)
    expect(await own.client.publish(own.message)).toMatchObject({ kind: 'response', status: 503 });
  await own.client.close();
  await own.ended;
  for (const line of ['-ERR', "-ERR ''", 'INFO', 'INFO null\r\nPONG x', 'MSG', 'MSG a', 'HMSG a 1 9 2', '', '\u0000']) {
    const { client, message, ended } = await hostileReply(() => `${line}\r\nQUIT\r\n\r\n`);
    expect(await client.publish(message)).toMatchObject({ kind: 'error' });
    await ended;
  }
});

test('lines and messages are read correctly however their bytes are split, and random bytes do no harm', () => {
  const stream = Buffer.from('INFO {}\r\nMSG a 1 5\r\nb\r\nc!\r\nHMSG a 1 2 3\r\nxyz\r\nPING\r\n');
  const readOf = (chunks: readonly Buffer[]): string[] => {
    const pieces: string[] = [];
    const reader = {
      onLine: (line: string) => pieces.push(line),
      onMessage: (line: string, content: Buffer) => pieces.push(`${line} ${content}`),
    };
    const read = createNatsParser(reader, () => pieces.push('excess'));
    for (const chunk of chunks) read(chunk);
    return pieces;
  };
  const expected = ['INFO {}', 'MSG a 1 5 b\r\nc!', 'HMSG a 1 2 3 xyz', 'PING'];
  for (let size = 1; size <= stream.length; size++) {
    const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, index) =>
      stream.subarray(index * size, (index + 1) * size),
    );
    expect(readOf(chunks)).toEqual(expected);
  }
  for (let seed = 0; seed < 2000; seed++) {
    const bytes = Buffer.from(stream);
    for (let at = seed % 7; at < bytes.length; at += 1 + (seed % 11)) bytes[at] = (seed * 31 + at * 17) % 256;
    readOf([bytes]);
  }
  const startMs = performance.now();
  readOf([Buffer.from(`MSG ${'1'.repeat(65_000)}x\r\n`)]);
  readOf(Array.from({ length: 70_000 }, () => Buffer.from('I')));
  expect(performance.now() - startMs).toBeLessThan(timeLimit(1000));
});

test('credentials sign the nonce of the server, and unusable ones are answered with 401', async () => {
  const pair = nkeys.createUser();
  const seed = new TextDecoder().decode(pair.getSeed());
  const credentials = [
    '-----BEGIN NATS USER JWT-----',
    'eyJ.own.jwt',
    '------END NATS USER JWT------',
    '',
    '-----BEGIN USER NKEY SEED-----',
    seed,
    '------END USER NKEY SEED------',
    '',
  ].join('\n');
  const greeting = promiseOf<string>();
  const server = (socket: Socket) => {
    socket.write('INFO {"nonce":"own-nonce"}\r\n');
    socket.on('data', (chunk) => greeting.resolve(chunk.toString()));
  };
  await hostile(server, { secrets: { credentials } });
  const { jwt, sig, nkey } = JSON.parse(/^CONNECT (.*)\r\n/.exec(await greeting.promise)?.[1] ?? '');
  expect({ jwt, nkey }).toEqual({ jwt: 'eyJ.own.jwt', nkey: pair.getPublicKey() });
  expect(pair.verify(Buffer.from('own-nonce'), Buffer.from(sig, 'base64url'))).toBe(true);
  const unusable = await hostile(server, { secrets: { credentials: '-'.repeat(4000) } });
  expect(await unusable.opened).toMatchObject({ kind: 'response', status: 401 });
  await unusable.ended;
});

test('if TLS is required, nothing is sent or accepted in plain text', async () => {
  const received: Buffer[] = [];
  const fake = (first: string) => (socket: Socket) => {
    socket.write(first);
    socket.on('data', (chunk) => received.push(chunk));
  };
  const secrets = { token: 'own-secret-token' };
  for (const first of [info, `INFO {"tls_required":true}\r\nPONG\r\n`, `INFO {"tls_available":true}\r\nMSG a`]) {
    const { opened, ended } = await hostile(fake(first), { isTls: true, secrets });
    expect(await opened).toMatchObject({ kind: 'error' });
    await ended;
  }
  expect(Buffer.concat(received).toString('latin1')).not.toContain('CONNECT');
});

natsTest(
  'with TLS, the certificate must be for the name of the server',
  async () => {
    const { cert, key } = selfSigned('nats.test');
    await writeFile(join(folder, 'cert.pem'), cert);
    await writeFile(join(folder, 'key.pem'), key);
    const port = await freePort();
    const config = join(folder, 'tls.conf');
    const files = `cert_file: "${folder}/cert.pem", key_file: "${folder}/key.pem"`;
    await writeFile(config, `listen: 127.0.0.1:${port}\ntls {${files}}\nauthorization {token: "own-token"}`);
    const child = spawn('nats-server', ['-c', config], { stdio: 'ignore' });
    const connectTo = (host: string, ca: string | undefined = cert) => {
      const url = new URL(`nats://${host}:${port}/orders.new`);
      const addresses = [{ address: '127.0.0.1', family: 4 }] as const;
      return connectToNats({ url, addresses, isTls: true, ca, secrets: { token: 'own-token' }, timeoutMs: 5000 });
    };
    try {
      const client = await vi.waitFor(() => connectTo('nats.test'), timeLimit(9000));
      const message = { url: new URL('nats://x/orders.new'), id: 'msg_1', orderKey: '', headers: {}, timeoutMs: 5000 };
      expect(await client.publish({ ...message, body: Buffer.from('{}') })).toMatchObject({ status: 404 });
      await client.close();
      for (const [host, ca] of [['other.test'], ['nats.test', selfSigned('nats.test').cert]] as const)
        expect(await connectTo(host, ca).catch(answerOfFailure)).toMatchObject({ kind: 'error', class: 'tls' });
    } finally {
      await endChild(child, 'SIGKILL');
    }
  },
  timeLimit(20_000),
);
