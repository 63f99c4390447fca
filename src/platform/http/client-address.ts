import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { Config } from '../../config.ts';

type TrustProxy = Config['trustProxy'];

/** Whether the proxy at an address, `hop` proxies away from us, is trusted to name the client. */
type Trust = (address: string, hop: number) => boolean;

/** TRUST_PROXY as the framework takes it. */
export function trustOf(setting: TrustProxy): Trust | false {
  if (typeof setting === 'boolean') return setting && (() => true);
  return typeof setting === 'number' ? (_address, hop) => hop < setting : proxyAddr.compile(setting);
}

/** Finds the address of the client, as `request.ip` does: that of the socket, or the one a trusted proxy names. */
export function createClientAddress(setting: TrustProxy): (request: IncomingMessage) => string {
  const trust = trustOf(setting);
  return trust === false ? ({ socket }) => socket.remoteAddress ?? '' : (request) => proxyAddr(request, trust);
}
