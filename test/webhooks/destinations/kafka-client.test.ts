import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { parseNets } from '../../../src/config/nets.ts';
import { answerOfFailure, promiseOf } from '../../../src/webhooks/destinations/broker.ts';
import { connectToKafka } from '../../../src/webhooks/destinations/kafka/client.ts';
import { createFrames } from '../../../src/webhooks/destinations/kafka/connection.ts';
import { crc32c, murmur2 } from '../../../src/webhooks/destinations/kafka/protocol.ts';
import { logIn } from '../../../src/webhooks/destinations/kafka/sasl.ts';
import { withDestinations } from '../../../src/webhooks/destinations/sender.ts';
import { createSender } from '../../../src/webhooks/sender.ts';
import { hasKcat, type KafkaCluster, produceWithKcat, startKafka, topic } from '../../support/kafka.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { selfSigned } from '../dispatcher/send/certificate.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(options: Parameters<typeof startKafka>[0] = {}): Promise<KafkaCluster> {
  const kafka = await startKafka(options);
  closing.push(kafka.close);
  return kafka;
}

const headers = { 'webhook-timestamp': '1764428400' };

/** Connects to a cluster without an address guard. */
async function connect(servers: string, settings: object = {}, parameters = '') {
  const [first, ...others] = servers.split(',');
  const brokers = others.length > 0 ? `&brokers=${others.join(',')}` : '';
  const isTls = 'isTls' in settings;
  const url = new URL(`kafka://${first}/${topic}?tls=${isTls}${brokers}${parameters}`);
  const addresses = [{ address: '127.0.0.1', family: 4 }];
  const options = { url, isTls, secrets: {}, ca: undefined, timeoutMs: 5000, ...settings };
  const client = await connectToKafka({ ...options, vet: async () => ({ addresses }) });
  closing.push(client.close);
  return {
    ...client,
    publish: (orderKey: string, body = '{}') =>
      client.publish({ url, id: 'msg_1', orderKey, headers, body: Buffer.from(body), timeoutMs: 5000 }),
  };
}

/** Starts a server that a tenant controls, and connects to it. `ended` resolves when its socket has ended. */
async function hostile(onSocket: (socket: Socket) => void, settings: object = {}, parameters = '') {
  const ended = promiseOf<void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('close', () => ended.resolve());
    socket.resume();
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const opened = connect(`127.0.0.1:${port}`, { timeoutMs: 300, ...settings }, parameters).catch(answerOfFailure);
  return { opened, ended: ended.promise.finally(() => server.close()) };
}

test('partitions are chosen as in the Java client', () => {
  // Values of Kafka's own test of this hash, and the check value of CRC-32C.
  const values = { '21': -973932308, foobar: -790332482, 'a-little-bit-longer-string': -1486304829, abc: 479470107 };
  for (const [key, value] of Object.entries(values)) expect(murmur2(Buffer.from(key)), key).toBe(value);
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

test('SCRAM messages match the example in RFC 7677', async () => {
  const salt = 'W22ZaJ0SNY7soEsUEjb6gQ==';
  const serverNonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
  const answers = [`r=${serverNonce},s=${salt},i=4096`, 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='];
  const sent: string[] = [];
  const login = { mechanism: 'SCRAM-SHA-256', user: 'user', password: 'pencil' } as const;
  const run = (responses: readonly string[]) => {
    sent.length = 0;
    return logIn(login, 'rOprNGfwEbeRWgbNEkqO', async (message) => {
      sent.push(message.toString());
      return Buffer.from(responses[sent.length - 1] ?? '');
    });
  };
  await run(answers);
  const proof = 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=';
  expect(sent).toEqual(['n,,n=user,r=rOprNGfwEbeRWgbNEkqO', `c=biws,r=${serverNonce},p=${proof}`]);
  // A server that does not know the password, shortens the work of guessing it, or occupies the CPU.
  const [first = ''] = answers;
  for (const responses of [
    [first, 'v=AAAA'],
    [first, 'e=other-error'],
    [first.replace('4096', '1')],
    [first.replace('4096', '999999999')],
    [`r=other,s=${salt},i=4096`],
    [''],
  ])
    await expect(run(responses)).rejects.toMatchObject({ answer: { class: 'protocol' } });
});

test('addresses that a cluster announces are vetted before Perkwire connects to them', async () => {
  const options = {
    allowNets: parseNets('127.0.0.0/8'),
    allowHttp: true,
    userAgent: 'test',
    lookup: async (name: string) => [{ address: name === 'kafka.test' ? '127.0.0.1' : '10.0.0.1', family: 4 }],
  };
  const sender = withDestinations(createSender(options), options);
  closing.push(sender.close);
  const send = async (announce: (port: number) => readonly [string, number]) => {
    const kafka = await start({ announce });
    const url = `kafka://${kafka.servers.replace('127.0.0.1', 'kafka.test')}/${topic}?tls=false`;
    const destination = { id: 'msg_1', orderKey: 'a', secrets: {} };
    return sender.send({ url, method: 'POST', headers, body: Buffer.from('{}'), deadlineMs: 5000, destination });
  };
  expect(await send((port) => ['127.0.0.1', port])).toMatchObject({ kind: 'response', status: 200 });
  for (const host of ['169.254.169.254', '::1', 'private.test', 'a.internal', '0x0a.1', 'a/b', 'me@a.test', ''])
    expect(await send((port) => [host, port]), host).toMatchObject({
      kind: 'error',
      class: 'connect',
      message: expect.stringMatching(/^the cluster announces .*\(advertised\.listeners\)$/),
    });
  expect(await send(() => ['127.0.0.1', 99_999])).toMatchObject({ kind: 'error', class: 'connect' });
  const blocked = { url: 'kafka://private.test:9092/orders?tls=false', method: 'POST', headers, body: null } as const;
  const destination = { id: 'msg_1', orderKey: 'a', secrets: {} };
  expect(await sender.send({ ...blocked, deadlineMs: 5000, destination })).toMatchObject({ kind: 'blocked' });
});

test('a second bootstrap server is used if the first one is down', async () => {
  const kafka = await start({ size: 2 });
  await kafka.stop(0);
  kafka.leaders.fill(1);
  const client = await connect(kafka.servers);
  expect(await client.publish('a')).toMatchObject({ status: 200 });
  await kafka.start(0);
});

test('messages of a partition are sent in order, even concurrent ones and across lost connections', async () => {
  const kafka = await start({ size: 2 });
  const client = await connect(kafka.servers);
  let count = 0;
  kafka.react = () => {
    count++;
    return count === 5 ? 'store and close' : count === 20 ? 6 : count === 40 ? 'close' : null;
  };
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => client.publish(`key-${index % 3}`, String(index))),
  );
  expect(answers.map((answer) => answer.kind === 'response' && answer.status)).toEqual(Array(60).fill(200));
  expect(kafka.records).toHaveLength(60);
  for (let key = 0; key < 3; key++) {
    const values = kafka.records.filter((record) => record.key === `key-${key}`).map(({ value }) => Number(value));
    expect(values).toEqual(values.toSorted((a, b) => a - b));
  }
});

test('a message that may have been stored never makes the broker drop the next one', async () => {
  const kafka = await start();
  const client = await connect(kafka.servers);
  expect(await client.publish('a', '1')).toMatchObject({ status: 200 });
  for (const code of [7, 20, 45, 47, 59, 99]) {
    kafka.react = () => code;
    expect(await client.publish('a', 'x').catch(() => null)).toMatchObject({ kind: expect.any(String) });
    kafka.react = () => null;
    expect(client.isOpen()).toBe(false);
    const next = await connect(kafka.servers);
    expect(await next.publish('a', `after ${code}`)).toMatchObject({ status: 200 });
    expect(kafka.records.at(-1)).toMatchObject({ value: `after ${code}` });
    Object.assign(client, next);
  }
});

test('without permission for idempotent writes, messages are sent without sequence numbers', async () => {
  const kafka = await start({ producerCode: 31 });
  const client = await connect(kafka.servers);
  const sequences: number[] = [];
  kafka.react = ({ sequence }) => {
    sequences.push(sequence);
    return null;
  };
  for (const value of ['1', '2']) expect(await client.publish('a', value)).toMatchObject({ status: 200 });
  expect(sequences).toEqual([-1, -1]);
});

test('a login that expires is renewed before the broker closes the connection', async () => {
  const user = { mechanism: 'PLAIN', name: 'shop', password: 'right' } as const;
  const kafka = await start({ user, sessionLifetimeMs: 50 });
  const client = await connect(kafka.servers, { secrets: { password: 'right' } }, '&user=shop');
  expect(await client.publish('a')).toMatchObject({ status: 200 });
  await vi.waitFor(() => expect(kafka.connections()).toBe(0), timeLimit(5000));
  expect(await client.publish('a')).toMatchObject({ status: 200 });
  expect(kafka.records).toHaveLength(2);
});

test('a closed connection leaves no timer for the end of its login', async () => {
  const user = { mechanism: 'SCRAM-SHA-256', name: 'shop', password: 'right' } as const;
  const sessionLifetimeMs = 7_654_321;
  const kafka = await start({ user, sessionLifetimeMs });
  const [started, ended] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')];
  try {
    const client = await connect(
      kafka.servers,
      { secrets: { password: 'right' } },
      '&user=shop&mechanism=SCRAM-SHA-256',
    );
    expect(await client.publish('a')).toMatchObject({ status: 200 });
    await client.close();
    const timers = started.mock.results.filter((_, at) => started.mock.calls[at]?.[1] === sessionLifetimeMs * 0.8);
    expect(timers.length).toBeGreaterThan(0);
    for (const { value } of timers) expect(ended.mock.calls.some(([timer]) => timer === value)).toBe(true);
  } finally {
    started.mockRestore();
    ended.mockRestore();
  }
});

test('a broker that lists all possible APIs occupies no memory with them', async () => {
  const body = Buffer.alloc(6 + 65_536 * 6);
  body.writeInt32BE(65_536, 2);
  for (let key = 0; key < 65_536; key++) body.writeUInt16BE(key, 6 + key * 6);
  const stored = vi.spyOn(Map.prototype, 'set');
  try {
    const { opened, ended } = await hostile((socket) => {
      socket.once('data', (request) => {
        const head = Buffer.alloc(8);
        head.writeInt32BE(4 + body.length);
        request.copy(head, 4, 8, 12);
        socket.write(Buffer.concat([head, body]));
      });
    });
    await opened;
    await ended;
    expect(stored.mock.calls.length).toBeLessThan(10_000);
  } finally {
    stored.mockRestore();
  }
});

test('with TLS, the certificate must be for the name of the broker', async () => {
  const { cert, key } = selfSigned('kafka.test');
  const kafka = await start({ tls: { cert, key }, announce: (port) => ['kafka.test', port] });
  const servers = kafka.servers.replace('127.0.0.1', 'kafka.test');
  const client = await connect(servers, { isTls: true, ca: cert }, '').catch(answerOfFailure);
  expect('publish' in client && (await client.publish('a'))).toMatchObject({ status: 200 });
  for (const [name, ca] of [
    ['other.test', cert],
    ['kafka.test', selfSigned('kafka.test').cert],
  ] as const) {
    const other = await connect(servers.replace('kafka.test', name), { isTls: true, ca }).catch(answerOfFailure);
    expect(other).toMatchObject({ kind: 'error', class: 'tls' });
  }
});

test('the connection to a server that does not respond is closed after the timeout', async () => {
  const { opened, ended } = await hostile(() => {});
  expect(await opened).toMatchObject({ kind: 'error', class: 'timeout' });
  await ended;
});

test('the connection to a server that sends 10 MB, another protocol or an unrequested response is closed', async () => {
  const size = Buffer.alloc(4);
  size.writeInt32BE(10_000_000);
  for (const data of [
    Buffer.concat([size, Buffer.alloc(1_000_000)]),
    Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
    Buffer.from([0x15, 3, 3, 0, 2, 2, 40]),
    Buffer.from([0, 0, 0, 4, 0, 0, 0, 99]),
    Buffer.from([0, 0, 0, 0]),
    Buffer.from([255, 255, 255, 255]),
  ]) {
    const { opened, ended } = await hostile((socket) => void socket.write(data), { timeoutMs: 60_000 });
    expect(await opened).toMatchObject({ kind: 'error', class: 'protocol' });
    await ended;
  }
});

test('a response with any content takes limited memory and is never trusted', async () => {
  const contents = ['', '00', '0000', '00007fffffff', '0000ffffffff', '00000000000100120000', '0063'];
  for (const hex of contents) {
    const body = Buffer.from(hex, 'hex');
    const { opened, ended } = await hostile((socket) => {
      socket.on('data', (request) => {
        const head = Buffer.alloc(8);
        head.writeInt32BE(4 + body.length);
        request.copy(head, 4, 8, 12);
        socket.write(Buffer.concat([head, body]));
      });
    });
    const client = await opened;
    const answer = 'publish' in client ? await client.publish('a') : client;
    expect(answer.kind === 'response' ? answer.status : answer.kind, hex).not.toBe(200);
    if ('publish' in client) await client.close();
    await ended;
  }
});

test('responses are read correctly however their bytes are split', () => {
  const stream = Buffer.from('00000004aaaaaaaa00000006bbbbbbbbbbbb00000004cccccccc', 'hex');
  for (let size = 1; size <= stream.length; size++) {
    const frames: string[] = [];
    const read = createFrames(
      (frame) => frames.push(frame.toString('hex')),
      () => frames.push('excess'),
    );
    for (let at = 0; at < stream.length; at += size) read(stream.subarray(at, at + size));
    expect(frames).toEqual(['aaaaaaaa', 'bbbbbbbbbbbb', 'cccccccc']);
  }
});

// The producer of librdkafka uses the cluster of these tests like a real one.
test.skipIf(!hasKcat)(
  'the test cluster works with librdkafka, with and without a login',
  async () => {
    const open = await start({ size: 2 });
    const idempotent = ['-X', 'enable.idempotence=true', '-H', 'x-team=perks'];
    expect(await produceWithKcat(open.servers, idempotent, 'key', 'ü')).toMatchObject({ code: 0 });
    const client = await connect(open.servers);
    await client.publish('key', 'own');
    expect(open.records).toMatchObject([{ key: 'key', value: 'ü', headers: { 'x-team': 'perks' } }, { value: 'own' }]);
    for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const) {
      const own = await start({ user: { mechanism, name: 'shop', password: 'right' } });
      const login = ['-X', 'security.protocol=SASL_PLAINTEXT', '-X', `sasl.mechanism=${mechanism}`];
      const user = ['-X', 'sasl.username=shop', '-X', 'sasl.password=right'];
      expect(await produceWithKcat(own.servers, [...login, ...user], 'key', 'value')).toMatchObject({ code: 0 });
      expect(own.records).toHaveLength(1);
    }
  },
  timeLimit(30_000),
);
