import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { parseNets } from '../../src/config/nets.ts';
import type { Lookup } from '../../src/webhooks/dispatcher/send/resolver.ts';
import type { SendRequest } from '../../src/webhooks/dispatcher/send/result.ts';
import { createSender, type Sender, type SenderOptions } from '../../src/webhooks/sender.ts';
import { selfSigned } from './dispatcher/send/certificate.ts';
import {
  bodyOf,
  closedPort,
  httpReceiver,
  httpsReceiver,
  type Receiver,
  tcpReceiver,
} from './dispatcher/send/receivers.ts';

const loopback = parseNets('127.0.0.0/8');
const open: (Sender | Receiver)[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((item) => item.close()));
});

function sender(options: Partial<SenderOptions> = {}): Sender {
  const created = createSender({
    allowNets: loopback,
    allowHttp: true,
    userAgent: 'Perkwire/test',
    now: () => performance.now(),
    ...options,
  });
  open.push(created);
  return created;
}

async function keep(starting: Promise<Receiver>): Promise<Receiver> {
  const receiver = await starting;
  open.push(receiver);
  return receiver;
}
const receiver = (handler: RequestListener): Promise<Receiver> => keep(httpReceiver(handler));
const raw = (answer: string, end = false): Promise<Receiver> =>
  keep(
    tcpReceiver((socket) => {
      socket.write(answer);
      if (end) socket.end();
    }),
  );

/** Answers each request with these packets, sent one after another. */
async function inPackets(packets: readonly string[]): Promise<Receiver & { calls: () => number }> {
  let calls = 0;
  const target = await keep(
    tcpReceiver((socket, firstChunk) => {
      socket.setNoDelay(true);
      let request = '';
      const read = async (chunk: Buffer): Promise<void> => {
        request += chunk.toString('latin1');
        if (!request.endsWith('{"a":1}')) return;
        request = '';
        calls++;
        for (const packet of packets) await new Promise((resolve) => socket.write(packet, () => setImmediate(resolve)));
      };
      socket.on('data', read);
      void read(firstChunk);
    }),
  );
  return { ...target, calls: () => calls };
}

const post = (url: string, more: Partial<SendRequest> = {}): SendRequest => ({
  url,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"a":1}'),
  deadlineMs: 5000,
  ...more,
});
const at = ({ port }: { port: number }, host = '127.0.0.1', scheme = 'http'): string =>
  `${scheme}://${host}:${port}/hook?x=1`;

/** Returns a resolver that answers each query with the next list, and repeats the last one. */
function answering(...lists: string[][]): Lookup & { asked: string[] } {
  const hostnames: string[] = [];
  const lookup = async (hostname: string) => {
    const list = lists[Math.min(hostnames.length, lists.length - 1)] ?? [];
    hostnames.push(hostname);
    return list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return Object.assign(lookup, { asked: hostnames });
}

describe('the request', () => {
  test('arrives with method, path, headers and the exact bytes', async () => {
    const body = Buffer.from([0x7b, 0x00, 0xff, 0x22, 0xc3, 0xa4, 0x7d]);
    const receivedParts: unknown[] = [];
    const target = await receiver(async (request, response) => {
      receivedParts.push(request.method, request.url, request.headers, await bodyOf(request));
      response.end('ok');
    });
    await sender().send(
      post(at(target), { body, headers: { 'Content-Type': 'application/json', 'webhook-id': 'd1' } }),
    );
    const headers = {
      host: `127.0.0.1:${target.port}`,
      connection: 'keep-alive',
      'user-agent': 'Perkwire/test',
      'content-type': 'application/json',
      'content-length': '7',
      'webhook-id': 'd1',
    };
    expect(receivedParts).toEqual(['POST', '/hook?x=1', headers, body]);
  });

  test('has no body for GET', async () => {
    const receivedParts: unknown[] = [];
    const target = await receiver(async (request, response) => {
      receivedParts.push(request.method, request.headers['content-length'], (await bodyOf(request)).length);
      response.end();
    });
    expect(await sender().send(post(at(target), { method: 'GET', body: null, headers: {} }))).toMatchObject({
      status: 200,
    });
    expect(receivedParts).toEqual(['GET', undefined, 0]);
  });

  test('cannot override transport headers, and never has accept-encoding', async () => {
    let receivedHeaders: NodeJS.Dict<string | string[]> = {};
    const target = await receiver((request, response) => {
      receivedHeaders = request.headers;
      response.end();
    });
    const headers = {
      Host: 'evil.example',
      'Accept-Encoding': 'gzip',
      'Transfer-Encoding': 'chunked',
      Expect: '100-continue',
      Connection: 'close',
    };
    expect(await sender().send(post(at(target), { headers }))).toMatchObject({ kind: 'response', status: 200 });
    expect(receivedHeaders).toEqual({
      host: `127.0.0.1:${target.port}`,
      connection: 'keep-alive',
      'user-agent': 'Perkwire/test',
      'content-length': '7',
    });
  });

  test('causes an error rather than a crash if a header is invalid', async () => {
    const target = await receiver((_request, response) => response.end());
    const result = await sender().send(post(at(target), { headers: { 'x-custom': 'a\r\nb: c' } }));
    expect(result).toMatchObject({ kind: 'error', class: 'other' });
    expect(target.connections()).toBe(0);
  });
});

describe('the response', () => {
  test('has a status, headers, a body, an address and timings', async () => {
    const target = await receiver((_request, response) => {
      response.writeHead(503, { 'Retry-After': '120', 'Set-Cookie': ['a=1', 'b=2'] });
      response.end('busy');
    });
    const result = await sender().send(post(at(target)));
    expect(result).toMatchObject({
      kind: 'response',
      status: 503,
      truncated: false,
      remoteAddress: '127.0.0.1',
      body: Buffer.from('busy'),
    });
    if (result.kind !== 'response') return;
    expect(result.headers).toMatchObject({ 'retry-after': '120', 'set-cookie': 'a=1, b=2' });
    const { dnsMs, connectMs, firstByteMs, totalMs } = result.timing;
    for (const ms of [dnsMs, connectMs, firstByteMs, totalMs]) expect(ms).toBeGreaterThanOrEqual(0);
    expect(totalMs).toBeGreaterThanOrEqual(firstByteMs as number);
  });

  test.each([301, 302, 303, 307, 308])('a redirect (%i) is returned and not followed', async (status) => {
    const canary = await receiver((_request, response) => response.end());
    const target = await receiver((_request, response) => response.writeHead(status, { location: at(canary) }).end());
    expect(await sender().send(post(at(target)))).toMatchObject({
      kind: 'response',
      status,
      headers: { location: at(canary) },
    });
    expect(canary.connections()).toBe(0);
  });

  test('a compressed body is not decompressed, so that a small response cannot grow', async () => {
    const packed = gzipSync(Buffer.alloc(5_000_000));
    const target = await receiver((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    );
    expect(await sender().send(post(at(target)))).toMatchObject({ status: 200, body: packed, truncated: false });
  });

  test('an endless body is truncated at 16 KiB, the connection is closed, and the status counts', async () => {
    const target = await receiver((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
      };
      response.on('drain', more);
      more();
    });
    const result = await sender().send(post(at(target)));
    expect(result).toMatchObject({ kind: 'response', status: 200, truncated: true });
    expect(result.kind === 'response' && result.body.equals(Buffer.alloc(16_384, 'x'))).toBe(true);
    await expect.poll(target.open).toBe(0);
  });

  test.each([
    [99, false],
    [100, false],
    [101, true],
  ])('a body of %i bytes is truncated at a limit of 100 bytes: %s', async (length, truncated) => {
    const target = await receiver((_request, response) => response.end('x'.repeat(length)));
    const result = await sender({ maxResponseBytes: 100 }).send(post(at(target)));
    expect(result).toMatchObject({ kind: 'response', truncated, body: Buffer.alloc(Math.min(length, 100), 'x') });
  });

  const final = 'HTTP/1.1 204 No Content\r\nx-final: 1\r\n\r\n';
  const notAskedFor = 'HTTP/1.1 100 Continue\r\n\r\n';
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';

  test.each([
    ['an unsolicited 100 Continue', [notAskedFor, final]],
    ['100 Continue and the final response in one packet', [notAskedFor + final]],
    ['100 Continue byte by byte', [...notAskedFor, final]],
    ['100 Continue with headers', ['HTTP/1.1 100 Continue\r\ndate: now\r\n\r\n', final]],
    ['100 without a reason phrase', ['HTTP/1.1 100\r\n\r\n', final]],
    ['102 Processing', ['HTTP/1.1 102 Processing\r\n\r\n', final]],
    ['103 Early Hints', [hints, final]],
    ['several kinds', [hints, notAskedFor, hints, notAskedFor + hints, final]],
  ])('interim responses are skipped: %s', async (_name, packets) => {
    const target = await inPackets(packets);
    const calls = sender();
    // The second call uses the same connection.
    for (let call = 0; call < 2; call++)
      expect(await calls.send(post(at(target)))).toMatchObject({
        kind: 'response',
        status: 204,
        headers: { 'x-final': '1' },
      });
    expect(target.calls()).toBe(2);
  });

  test('a head within 16 KiB stays within 16 KiB, even after repeated headers are joined', async () => {
    const target = await raw(`HTTP/1.1 200 OK\r\n${'a: \r\n'.repeat(15_000)}\r\n`, true);
    const result = await sender().send(post(at(target)));
    expect(result.kind).toBe('response');
    if (result.kind === 'response') expect(JSON.stringify(result.headers).length).toBeLessThan(17_000);
  });

  test('header names such as __proto__ are treated as ordinary names', async () => {
    const target = await raw('HTTP/1.1 200 OK\r\n__proto__: a\r\nconstructor: b\r\ncontent-length: 0\r\n\r\n');
    const result = await sender().send(post(at(target)));
    const headers = result.kind === 'response' ? result.headers : {};
    expect(Object.entries(headers)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['content-length', '0'],
    ]);
  });
});

describe('one deadline for the whole call', () => {
  const timedOut = { kind: 'error', class: 'timeout' };

  test('covers a resolver that never answers, which is a local failure if it answers for no other names', async () => {
    const target = await receiver((_request, response) => response.end());
    const lookup: Lookup = (name) =>
      name === 'slow.test' ? new Promise(() => {}) : Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    const calls = sender({ lookup });
    const slow = () => calls.send(post('http://slow.test/', { deadlineMs: 50 }));
    expect(await slow()).toMatchObject({
      kind: 'error',
      class: 'local',
      timing: { connectMs: null, firstByteMs: null },
    });
    expect(await calls.send(post(at(target, 'good.test')))).toMatchObject({ status: 200 });
    expect(await slow()).toMatchObject(timedOut);
  });

  test('covers a receiver that never starts TLS, and closes its connection', async () => {
    const target = await keep(tcpReceiver(() => {}));
    const result = await sender().send(post(at(target, '127.0.0.1', 'https'), { deadlineMs: 100 }));
    expect(result).toMatchObject({
      ...timedOut,
      timing: { connectMs: expect.any(Number), tlsMs: null, firstByteMs: null },
    });
    await expect.poll(target.open).toBe(0);
  });

  test('covers a receiver that never responds, and closes its connection', async () => {
    const target = await receiver(() => {});
    const result = await sender().send(post(at(target), { deadlineMs: 150 }));
    expect(result).toMatchObject({ ...timedOut, remoteAddress: '127.0.0.1', timing: { firstByteMs: null } });
    await expect.poll(target.open).toBe(0);
  });

  test('covers response headers that arrive one byte at a time, each within any idle limit', async () => {
    const target = await keep(
      tcpReceiver((socket) => {
        const timer = setInterval(() => socket.write('H'), 10);
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        socket.once('close', () => clearInterval(timer));
      }),
    );
    const result = await sender().send(post(at(target), { deadlineMs: 300 }));
    expect(result).toMatchObject(timedOut);
  });

  test('covers a body that arrives one byte at a time, so that its status 200 does not count', async () => {
    const target = await receiver((_request, response) => {
      const timer = setInterval(() => response.write('x'), 10);
      response.once('close', () => clearInterval(timer));
    });
    const result = await sender().send(post(at(target), { deadlineMs: 300 }));
    expect(result).toMatchObject(timedOut);
    expect(result.kind === 'error' && result.timing.firstByteMs).toBeGreaterThanOrEqual(0);
    await expect.poll(target.open).toBe(0);
  });

  test('covers the total time of all steps', async () => {
    const lookup: Lookup = () =>
      new Promise((resolve) => setTimeout(() => resolve([{ address: '127.0.0.1', family: 4 }]), 120));
    const target = await receiver((_request, response) => void setTimeout(() => response.end(), 120));
    const sending = sender({ lookup });
    expect(await sending.send(post(at(target, 'slow.test'), { deadlineMs: 200 }))).toMatchObject(timedOut);
    expect(await sending.send(post(at(target, 'slow.test'), { deadlineMs: 2000 }))).toMatchObject({
      kind: 'response',
      status: 200,
    });
  });
});

describe('without a response, the reported reason is', () => {
  test('dns: the name has no address', async () => {
    const result = await sender({ lookup: answering([]) }).send(post('http://nowhere.test/'));
    expect(result).toMatchObject({ kind: 'error', class: 'dns' });
  });

  test('dns or local: the resolver fails, which is local if it answers for no other names', async () => {
    const lookup: Lookup = (name) =>
      name === 'gone.test'
        ? Promise.resolve([])
        : Promise.reject(Object.assign(new Error('queryA'), { code: 'ESERVFAIL' }));
    const calls = sender({ lookup });
    expect(await calls.send(post('http://a.test/'))).toMatchObject({ kind: 'error', class: 'local' });
    await calls.send(post('http://gone.test/'));
    expect(await calls.send(post('http://a.test/'))).toMatchObject({ kind: 'error', class: 'dns' });
  });

  test.each(['100 Continue', '102 Processing'])('protocol: a flood of interim responses (%s)', async (status) => {
    const target = await raw(`HTTP/1.1 ${status}\r\n\r\n`.repeat(100_000));
    expect(await sender().send(post(at(target)))).toMatchObject({ kind: 'error', class: 'protocol' });
  });

  test('connect: no server listens on the port', async () => {
    expect(await sender().send(post(at({ port: await closedPort() })))).toMatchObject({
      kind: 'error',
      class: 'connect',
    });
  });

  test('connect: none of several addresses responds', async () => {
    const port = await closedPort();
    const result = await sender({ lookup: answering(['127.0.0.1', '127.0.0.2']) }).send(
      post(at({ port }, 'hooks.test')),
    );
    expect(result).toMatchObject({ kind: 'error', class: 'connect' });
    expect(result.kind === 'error' && result.message).not.toBe('');
  });

  test('tls: there is no handshake within the connect timeout', async () => {
    const target = await keep(tcpReceiver(() => {}));
    const result = await sender({ connectTimeoutMs: 100 }).send(post(at(target, '127.0.0.1', 'https')));
    expect(result).toMatchObject({ kind: 'error', class: 'tls', message: 'no connection within 100 ms' });
  });

  test('tls: the receiver speaks plain HTTP', async () => {
    const target = await receiver((_request, response) => response.end());
    expect(await sender().send(post(at(target, '127.0.0.1', 'https')))).toMatchObject({ kind: 'error', class: 'tls' });
  });

  test('reset: the receiver hangs up without a response', async () => {
    const target = await keep(tcpReceiver((socket) => socket.destroy()));
    expect(await sender().send(post(at(target)))).toMatchObject({ kind: 'error', class: 'reset' });
  });

  test('reset: the receiver hangs up in the middle of the body', async () => {
    const target = await raw('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello', true);
    expect(await sender().send(post(at(target)))).toMatchObject({ kind: 'error', class: 'reset' });
  });

  test.each([
    ['the response is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['the head is over 16 KiB', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(17_000)}\r\n\r\n`],
    ['chunks are malformed', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
    [
      'the server switches protocols without a request',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ],
  ])('protocol: %s', async (_what, answer) => {
    expect(await sender().send(post(at(await raw(answer))))).toMatchObject({ kind: 'error', class: 'protocol' });
  });

  test('local: the caller cancels, before or during the call', async () => {
    const target = await receiver(() => {});
    const cancelled = { kind: 'error', class: 'local' };
    expect(await sender().send(post(at(target), { signal: AbortSignal.abort() }))).toMatchObject(cancelled);
    expect(target.connections()).toBe(0);
    const controller = new AbortController();
    const sending = sender().send(post(at(target), { signal: controller.signal }));
    await once(target.server, 'request');
    controller.abort();
    expect(await sending).toMatchObject(cancelled);
    await expect.poll(target.open).toBe(0);
  });
});

describe('https', () => {
  const certificate = selfSigned('hooks.test');
  const target = () => keep(httpsReceiver(certificate, (request, response) => void response.end(request.headers.host)));
  const lookup = answering(['127.0.0.1']);

  test('calls a receiver with a trusted certificate for its name, which is sent by SNI', async () => {
    const { port } = await keep(
      httpsReceiver(certificate, ({ headers, socket }, response) => {
        response.end(`${headers.host} ${(socket as TLSSocket).servername}`);
      }),
    );
    const result = await sender({ ca: certificate.cert, lookup, allowHttp: false }).send(
      post(at({ port }, 'hooks.test', 'https')),
    );
    expect(result).toMatchObject({
      kind: 'response',
      status: 200,
      body: Buffer.from(`hooks.test:${port} hooks.test`),
      remoteAddress: '127.0.0.1',
    });
    expect(result.kind === 'response' && result.timing.connectMs).toBeGreaterThan(0);
    expect(result.kind === 'response' && result.timing.tlsMs).toBeGreaterThan(0);
  });

  test.each([
    ['an untrusted certificate', undefined, 'hooks.test'],
    ['a certificate for another name', certificate.cert, 'other.test'],
    ['a host name certificate when called by IP address', certificate.cert, '127.0.0.1'],
  ])('tls: %s', async (_what, ca, host) => {
    const trust = ca === undefined ? {} : { ca };
    const result = await sender({ ...trust, lookup }).send(post(at(await target(), host, 'https')));
    expect(result).toMatchObject({ kind: 'error', class: 'tls' });
  });

  test('tls: a trusted certificate that has expired', async () => {
    const expired = selfSigned('hooks.test', '201231235959Z');
    const { port } = await keep(httpsReceiver(expired, (_request, response) => void response.end()));
    const result = await sender({ ca: expired.cert, lookup }).send(post(at({ port }, 'hooks.test', 'https')));
    expect(result).toMatchObject({ kind: 'error', class: 'tls', message: expect.stringContaining('expired') });
  });

  test.each(['TLSv1', 'TLSv1.1'] as const)(
    'tls: a receiver that supports no version newer than %s',
    async (version) => {
      const options = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
      let requests = 0;
      const handler: RequestListener = (_request, response) => {
        requests += 1;
        response.end();
      };
      const { port } = await keep(httpsReceiver({ ...certificate, ...options }, handler));
      const result = await sender({ ca: certificate.cert, lookup }).send(post(at({ port }, 'hooks.test', 'https')));
      expect(result).toMatchObject({ kind: 'error', class: 'tls' });
      expect(requests).toBe(0);
    },
  );

  test('plain HTTP is blocked unless it is allowed', async () => {
    const canary = await receiver((_request, response) => response.end());
    expect(await sender({ allowHttp: false }).send(post(at(canary)))).toEqual({
      kind: 'blocked',
      reason: 'https_required',
    });
    expect(canary.connections()).toBe(0);
  });
});

describe('connections', () => {
  test('a reused connection takes no time to connect', async () => {
    const target = await receiver((_request, response) => response.end('ok'));
    const sending = sender();
    expect(await sending.send(post(at(target)))).toMatchObject({
      status: 200,
      timing: { connectMs: expect.any(Number) },
    });
    expect(await sending.send(post(at(target)))).toMatchObject({
      status: 200,
      remoteAddress: '127.0.0.1',
      timing: { connectMs: null },
    });
    expect(target.connections()).toBe(1);
  });

  test('concurrent calls do not wait for each other', async () => {
    const waiting: (() => void)[] = [];
    const target = await receiver((_request, response) => {
      waiting.push(() => response.end());
      if (waiting.length === 8) for (const answer of waiting) answer();
    });
    const sending = sender();
    const results = await Promise.all(Array.from({ length: 8 }, () => sending.send(post(at(target)))));
    expect(results.every((result) => result.kind === 'response' && result.status === 200)).toBe(true);
    expect(target.connections()).toBe(8);
  });

  test('a connection that the receiver closed is replaced without an error', async () => {
    const target = await receiver((_request, response) => response.end());
    const sending = sender();
    await sending.send(post(at(target)));
    (target.server as import('node:http').Server).closeIdleConnections();
    await expect.poll(target.open).toBe(0);
    expect(await sending.send(post(at(target)))).toMatchObject({
      status: 200,
      timing: { connectMs: expect.any(Number) },
    });
    expect(target.connections()).toBe(2);
  });

  test('a receiver that closes after each response is served each time', async () => {
    const target = await receiver((_request, response) => response.writeHead(200, { connection: 'close' }).end());
    const sending = sender();
    for (let call = 0; call < 3; call++) expect(await sending.send(post(at(target)))).toMatchObject({ status: 200 });
    expect(target.connections()).toBe(3);
  });

  test('if the first address is dead, the next one is called', async () => {
    const target = await receiver((_request, response) => response.end());
    const options = { lookup: answering(['::1', '127.0.0.1']), allowNets: parseNets('127.0.0.0/8,::1/128') };
    expect(await sender(options).send(post(at(target, 'hooks.test')))).toMatchObject({
      status: 200,
      remoteAddress: '127.0.0.1',
    });
  });

  test('close ends calls in flight as local, closes idle connections and rejects further calls', async () => {
    const target = await receiver((request, response) => {
      if (request.url === '/quick') response.end();
    });
    const sending = sender();
    const slow = sending.send(post(at(target)));
    await once(target.server, 'request');
    await sending.send(post(`http://127.0.0.1:${target.port}/quick`));
    expect(target.open()).toBe(2);
    await sending.close();
    expect(await slow).toMatchObject({ kind: 'error', class: 'local' });
    await expect.poll(target.open).toBe(0);
    expect(await sending.send(post(at(target)))).toMatchObject({ kind: 'error', class: 'local' });
    expect(target.connections()).toBe(2);
  });
});

describe('forbidden targets', () => {
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    'local.test',
  ];

  test.each(hosts)('%s gets no connection unless its net is opened', async (host) => {
    const canary = await receiver((_request, response) => response.end());
    const lookup = answering(['127.0.0.1']);
    expect(await sender({ allowNets: [], lookup }).send(post(at(canary, host)))).toEqual({
      kind: 'blocked',
      reason: 'blocked_address',
    });
    expect(canary.connections()).toBe(0);
    expect(await sender({ lookup }).send(post(at(canary, host)))).toMatchObject({ kind: 'response', status: 200 });
    expect(canary.connections()).toBe(1);
  });

  test('a name with one private address among public ones gets no connection to any of them', async () => {
    const canary = await receiver((_request, response) => response.end());
    for (const list of [
      ['127.0.0.1', '10.0.0.1'],
      ['10.0.0.1', '127.0.0.1'],
      ['127.0.0.1', '::1'],
    ]) {
      const result = await sender({ lookup: answering(list) }).send(post(at(canary, 'hooks.test')));
      expect(result).toEqual({ kind: 'blocked', reason: 'blocked_address' });
    }
    expect(canary.connections()).toBe(0);
  });

  test('the name is looked up once per call, and the connection uses that answer', async () => {
    const target = await receiver((_request, response) => response.writeHead(200, { connection: 'close' }).end());
    const lookup = answering(['127.0.0.1']);
    const sending = sender({ lookup });
    await sending.send(post(at(target, 'hooks.test')));
    await sending.send(post(at(target, 'hooks.test')));
    expect(lookup.asked).toEqual(['hooks.test', 'hooks.test']);
  });

  test('a name that becomes private is blocked, even with an open connection to its old address', async () => {
    const target = await receiver((_request, response) => response.end());
    const sending = sender({ lookup: answering(['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1']) });
    expect(await sending.send(post(at(target, 'hooks.test')))).toMatchObject({ status: 200 });
    expect(await sending.send(post(at(target, 'hooks.test')))).toEqual({ kind: 'blocked', reason: 'blocked_address' });
    expect(await sending.send(post(at(target, 'hooks.test')))).toMatchObject({
      status: 200,
      timing: { connectMs: null },
    });
  });

  test('a name that resolves to new addresses does not reuse a connection to the old ones', async () => {
    const target = await receiver((_request, response) => response.end());
    const sending = sender({
      lookup: answering(['127.0.0.1'], ['127.0.0.1', '127.0.0.2'], ['127.0.0.2', '127.0.0.1'], ['127.0.0.1']),
    });
    const connects: boolean[] = [];
    for (let call = 0; call < 4; call++) {
      const result = await sending.send(post(at(target, 'hooks.test')));
      connects.push(result.kind === 'response' && result.timing.connectMs !== null);
    }
    expect(connects).toEqual([true, true, false, false]);
    expect(target.connections()).toBe(2);
  });

  test('two names with the same address do not share a connection', async () => {
    const target = await receiver((_request, response) => response.end());
    const sending = sender({ lookup: answering(['127.0.0.1']) });
    await sending.send(post(at(target, 'one.test')));
    await sending.send(post(at(target, 'two.test')));
    expect(target.connections()).toBe(2);
  });
});
