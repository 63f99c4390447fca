import { Agent, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { LightMyRequestResponse } from 'fastify';
import type { App } from '../../src/platform/http/app.ts';
import { getOrInsert } from '../../src/platform/lib/get-or-insert.ts';

/** Request options, as for `app.inject`. */
type RequestOptions = {
  method?: string;
  /** URL as in the request line. The origin of URLs from responses is removed. */
  url: string;
  headers?: Record<string, string>;
  payload?: string | object | undefined;
  /** Client address, which must be in 127.0.0.0/8. */
  remoteAddress?: string;
};

export type TestResponse = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'rawPayload' | 'body' | 'json'>;

const agent = new Agent({ keepAlive: true, maxSockets: 128 });
const listening = new WeakMap<App, Promise<string>>();

/** Returns the port of an app, which starts to listen at the first call. */
export async function portOf(app: App): Promise<number> {
  if (!app.server.listening) await getOrInsert(listening, app, () => app.listen({ port: 0, host: '127.0.0.1' }));
  return (app.server.address() as AddressInfo).port;
}

/** Sends a request over a socket, like a real client. */
export async function requestOver(
  app: App,
  { method = 'GET', url, headers = {}, payload, remoteAddress = '127.0.0.1' }: RequestOptions,
): Promise<TestResponse> {
  const body = typeof payload === 'object' ? JSON.stringify(payload) : payload;
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const path = url.replace(/^http:\/\/perks\.test/, '');
    const type = typeof payload === 'object' ? { 'content-type': 'application/json' } : {};
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    portOf(app).then((port) => {
      const target = { host: '127.0.0.1', port, localAddress: remoteAddress, agent };
      send({ ...target, method, path, headers: { ...type, ...length, ...headers } }, resolve)
        .on('error', reject)
        .end(body);
    }, reject);
  });
  const rawPayload = await buffer(incoming);
  const text = rawPayload.toString();
  return {
    statusCode: incoming.statusCode as number,
    headers: incoming.headers,
    rawPayload,
    body: text,
    json: () => JSON.parse(text),
  };
}
