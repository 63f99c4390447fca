import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { parseNets } from '../../../../src/config/nets.ts';
import { parseHttpProxy } from '../../../../src/config/outgoing.ts';
import { createSender, type SenderOptions } from '../../../../src/webhooks/sender.ts';
import { selfSigned } from './certificate.ts';
import { bodyOf, closedPort, httpReceiver, httpsReceiver } from './receivers.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type ConnectRequest = { target: string; authorization: string | undefined };

/** Starts a proxy that only accepts CONNECT and records the requests. With `status`, it rejects them. */
async function startProxy(status = 200) {
  const requests: ConnectRequest[] = [];
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on('connect', (request, client, head) => {
    requests.push({ target: request.url ?? '', authorization: request.headers['proxy-authorization'] });
    client.on('error', () => {});
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(request.url ?? '') ?? [];
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\nx-proxy: yes\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => server.close());
  return { asked: requests, port: (server.address() as AddressInfo).port };
}

function sender(options: Partial<SenderOptions>) {
  const created = createSender({
    allowNets: [],
    allowHttp: true,
    userAgent: 'Perkwire/test',
    now: () => performance.now(),
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    ...options,
  });
  ends.push(created.close);
  return created;
}
const loopback = parseNets('127.0.0.0/8');
const call = (url: string) => ({
  url,
  method: 'POST' as const,
  headers: {},
  body: Buffer.from('{"a":1}'),
  deadlineMs: 3000,
});

describe('a proxy', () => {
  test('gets the checked address, while the receiver gets its own host name and the exact bytes', async () => {
    const proxy = await startProxy();
    let receivedRequest: { host: string | undefined; body: string; headers: object } | null = null;
    const receiver = await httpReceiver(async (request, response) => {
      receivedRequest = {
        host: request.headers.host,
        body: (await bodyOf(request)).toString(),
        headers: request.headers,
      };
      response.end('ok');
    });
    ends.push(receiver.close);
    const calls = sender({
      allowNets: loopback,
      proxy: parseHttpProxy(`http://us%20er:pa%3Ass@127.0.0.1:${proxy.port}`, []),
    });
    const result = await calls.send(call(`http://shop.test:${receiver.port}/hook`));
    expect(result).toMatchObject({ kind: 'response', status: 200, remoteAddress: '127.0.0.1' });
    expect(proxy.asked).toEqual([
      { target: `127.0.0.1:${receiver.port}`, authorization: `Basic ${Buffer.from('us er:pa:ss').toString('base64')}` },
    ]);
    expect(receivedRequest).toMatchObject({ host: `shop.test:${receiver.port}`, body: '{"a":1}' });
    expect(Object.keys((receivedRequest as unknown as { headers: object }).headers)).not.toContain(
      'proxy-authorization',
    );
  });

  test('does not terminate TLS, so that the certificate is checked for the host of the URL', async () => {
    const proxy = await startProxy();
    const certificate = selfSigned('shop.test');
    const receiver = await httpsReceiver(certificate, (_request, response) => response.end('ok'));
    ends.push(receiver.close);
    const calls = sender({
      allowNets: loopback,
      proxy: parseHttpProxy(`http://127.0.0.1:${proxy.port}`, []),
      ca: certificate.cert,
    });
    expect(await calls.send(call(`https://shop.test:${receiver.port}/hook`))).toMatchObject({
      kind: 'response',
      status: 200,
    });
    expect(await calls.send(call(`https://other.test:${receiver.port}/hook`))).toMatchObject({
      kind: 'error',
      class: 'tls',
    });
  });

  test('is not called for a blocked address', async () => {
    const proxy = await startProxy();
    const calls = sender({ proxy: parseHttpProxy(`http://127.0.0.1:${proxy.port}`, []) });
    expect(await calls.send(call('http://shop.test/hook'))).toEqual({ kind: 'blocked', reason: 'blocked_address' });
    expect(await calls.send(call('http://169.254.169.254/hook'))).toEqual({
      kind: 'blocked',
      reason: 'blocked_address',
    });
    expect(proxy.asked).toEqual([]);
  });

  test.each([
    ['that is unreachable causes a local failure', 0, 'local'] as const,
    ['that requires another password causes a local failure', 407, 'local'] as const,
    ['that cannot reach the receiver causes a connection failure', 502, 'connect'] as const,
  ])('%s', async (_name, status, errorClass) => {
    const port = status === 0 ? await closedPort() : (await startProxy(status)).port;
    const calls = sender({ allowNets: loopback, proxy: parseHttpProxy(`http://127.0.0.1:${port}`, []) });
    expect(await calls.send(call('http://shop.test:9999/hook'))).toMatchObject({ kind: 'error', class: errorClass });
  });
});
