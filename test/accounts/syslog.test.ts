import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readFeedState } from '../../src/accounts/audit-feed.ts';
import { sendToSyslog, syslogMessageOf } from '../../src/accounts/syslog/job.ts';
import { sendSyslog } from '../../src/accounts/syslog/send.ts';
import type { SyslogSetting } from '../../src/config/outgoing.ts';
import { signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { selfSigned } from '../webhooks/dispatcher/send/certificate.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { auditSyslog: { transport: 'tcp', host: '127.0.0.1', port: 601 } } });
});
afterAll(() => t?.close());

const closing: (() => unknown)[] = [];
beforeEach(async () => {
  await t.pool.query('delete from audit_feeds');
  await send({ transport: 'udp', host: '127.0.0.1', port: 9 });
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const send = (setting: SyslogSetting) => sendToSyslog({ pool: t.pool, setting, host: 'perks.example' });

/** Adds entries with these names to a publisher's audit log. */
const record = async (names: readonly string[], publisherId = 1): Promise<void> => {
  for (const name of names)
    await t.pool.query(
      `insert into audit_log
        (publisher_id, at, actor_kind, actor_id, actor_label, action, resource, resource_id, changes)
      values ($1, now(), 'user', 7, 'ann@publisher.example', 'update', 'offers', $2, '{}')`,
      [publisherId, name],
    );
};

/** Parses octet-counted syslog frames, like a receiver. */
function framesOf(bytes: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(32, at);
    const end = blank + 1 + Number(bytes.subarray(at, blank).toString());
    frames.push(bytes.subarray(blank + 1, end).toString());
    at = end;
  }
  return frames;
}

const entryIn = (message: string) => JSON.parse(message.slice(message.indexOf('{')));
const namesIn = (messages: readonly string[]): string[] => messages.map((message) => entryIn(message).resource_id);

/** Starts a receiver that accepts everything and closes each connection after its client has ended it. */
async function receiver(take?: (socket: Socket) => void, port = 0) {
  const messages: string[] = [];
  const server: Server = createServer({ pauseOnConnect: true }, (socket) => {
    if (take !== undefined) return take(socket);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk)).on('end', () => messages.push(...framesOf(Buffer.concat(chunks))));
    socket.resume();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const setting: SyslogSetting = { transport: 'tcp', host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  return { messages, server, setting };
}

test('sends every entry once, in log order, as RFC 5424', async () => {
  const { messages, setting } = await receiver();
  await record(['one', 'two']);
  await record(['of another'], 2);
  await record(['of operators'], 0);
  await send(setting);
  await record(['three']);
  await send(setting);
  await send(setting);
  expect(namesIn(messages)).toEqual(['of operators', 'one', 'two', 'of another', 'three']);
  expect(messages[1]).toMatch(/^<109>1 \d{4}-\d\d-\d\dT[\d:.]+Z perks\.example perkwire - update - \{/);
  const { rows } = await t.pool.query(
    "select encode(hash, 'hex') as hash from audit_log where resource_id = 'one' and publisher_id = 1",
  );
  expect(entryIn(messages[1] ?? '')).toMatchObject({
    publisher_id: 1,
    actor_label: 'ann@publisher.example',
    ...rows[0],
  });
});

test('loses nothing while the receiver is unavailable, and reports the outage on the System page', async () => {
  const first = await receiver();
  first.server.close();
  await once(first.server, 'close');
  await record(['one', 'two']);
  await expect(send(first.setting)).rejects.toThrow('ECONNREFUSED');
  await expect(send(first.setting)).rejects.toThrow('ECONNREFUSED');
  const failing = await readFeedState(t.pool, 'syslog', 10);
  expect(failing).toMatchObject({ waiting: 2, error: expect.stringContaining('ECONNREFUSED') });
  expect(failing?.failedAt).not.toBeNull();
  const { cookie } = await signInAs(t, 'operator');
  const system = () => t.app.inject({ url: '/dashboard/operator/system', headers: { cookie } });
  expect((await system()).body).toMatch(/failing[\s\S]*2 entries are waiting\.[\s\S]*ECONNREFUSED/);
  const second = await receiver(undefined, first.setting.port);
  await send(second.setting);
  expect(namesIn(second.messages)).toEqual(['one', 'two']);
  expect(await readFeedState(t.pool, 'syslog', 10)).toMatchObject({ waiting: 0, failedAt: null, error: null });
  expect((await system()).body).toMatch(/Activity log export to syslog[\s\S]*>working</);
});

test('sends entries again if the receiver closes the connection without reading them', async () => {
  const rude = await receiver((socket) => socket.destroy());
  const early = await receiver((socket) => socket.end());
  await record(['one']);
  for (const { setting } of [rude, early]) await expect(send(setting)).rejects.toThrow();
  const kind = await receiver();
  await send(kind.setting);
  expect(namesIn(kind.messages)).toEqual(['one']);
});

test('abandons an unresponsive receiver at the deadline, and leaves no log row locked', async () => {
  const slow = await receiver(() => {});
  await record(['one']);
  const sending = sendToSyslog({
    pool: t.pool,
    setting: slow.setting,
    host: 'perks.example',
    send: (setting, messages) => sendSyslog(setting, messages, { deadlineMs: 300 }),
  });
  const failed = expect(sending).rejects.toThrow('in time');
  await record(['two']);
  await failed;
});

test('sends from only one of two processes', async () => {
  const { messages, setting } = await receiver();
  await record(['one', 'two']);
  const sent = await Promise.all([send(setting), send(setting)]);
  expect(sent.filter((count) => count !== null && count > 0)).toEqual([2]);
  expect(namesIn(messages)).toEqual(['one', 'two']);
});

test('sends entries over TLS to a receiver with a trusted certificate', async () => {
  const certificate = selfSigned('localhost');
  const messages: string[] = [];
  const server = tls.createServer(certificate, (socket) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk)).on('end', () => messages.push(...framesOf(Buffer.concat(chunks))));
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const setting: SyslogSetting = { transport: 'tls', host: 'localhost', port: (server.address() as AddressInfo).port };
  await record(['one']);
  await expect(send(setting)).rejects.toThrow(/self-signed|certificate/);
  const trusting: typeof sendSyslog = (to, config) => sendSyslog(to, config, { ca: certificate.cert });
  await sendToSyslog({ pool: t.pool, setting, host: 'perks.example', send: trusting });
  expect(namesIn(messages)).toEqual(['one']);
});

test('sends entries over UDP, one per datagram', async () => {
  const socket = createSocket('udp4');
  closing.push(() => socket.close());
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const messages: string[] = [];
  const both = new Promise<void>((resolve) => {
    socket.on('message', (message) => {
      if (messages.push(message.toString()) === 2) resolve();
    });
  });
  await record(['one', 'two']);
  await send({ transport: 'udp', host: '127.0.0.1', port: socket.address().port });
  await both;
  expect(namesIn(messages)).toEqual(['one', 'two']);
});

test('sends an entry that is too long without its changes, and marks it as shortened', () => {
  const entry = {
    publisher_id: 1,
    number: 1,
    at: '2026-11-24T10:00:00.000Z',
    actor_kind: 'user',
    actor_id: 1,
    actor_label: 'ann',
    action: 'sign in\n',
    resource: 'offers',
    resource_id: '1',
    hash: '00',
    changes: { terms: { old: null, new: 'ü'.repeat(40_000) } },
  };
  const message = syslogMessageOf(entry, 'perks.example').toString();
  expect(entryIn(message)).toMatchObject({ cut: true, changes: {}, hash: '00' });
  expect(message).toMatch(/^<109>1 \S+ perks\.example perkwire - sign_in_ - \{/);
});
