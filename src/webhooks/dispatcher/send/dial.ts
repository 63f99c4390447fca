import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { HttpProxy } from '../../../config.ts';
import { hostOf } from '../../address-guard.ts';
import { openTunnel } from './proxy.ts';
import type { ResolvedAddress } from './resolver.ts';

export type DialOptions = {
  url: URL;
  addresses: readonly ResolvedAddress[];
  connectTimeoutMs: number;
  ca: string | undefined;
  proxy: HttpProxy | null;
  now: () => number;
  /** Protocols to offer with ALPN. Defaults to HTTP/1.1. */
  alpn?: readonly string[] | null;
};

export type DialEvents = { onTcp: () => void; onReady: (socket: Socket) => void; onError: (error: Error) => void };

/**
 * Connects only to the vetted addresses, one after the other. The socket's lookup function returns only these
 * addresses.
 */
export function dial(options: DialOptions, { onTcp, ...events }: DialEvents): Socket {
  const { url, addresses } = options;
  const target = {
    host: hostOf(url),
    port: portOf(url),
    lookup: pinned(addresses),
    autoSelectFamily: true,
    noDelay: true,
  };
  const socket: Socket = isSecure(url) ? connectTls({ ...target, ...tlsOptions(options) }) : connectTcp(target);
  socket.once('connect', onTcp);
  return watchDial(socket, options, events);
}

/**
 * Connects to the first vetted address through the proxy. TLS runs inside the tunnel, with the host name of the URL.
 * `onTunnel` receives the underlying socket.
 */
export function dialThrough(
  proxy: HttpProxy,
  options: DialOptions,
  { onTcp, ...events }: DialEvents,
  onTunnel: (socket: Socket) => void,
): Socket {
  const { url, addresses } = options;
  const address = addresses[0]?.address ?? '';
  const timer = setTimeout(() => tunnel.destroy(), options.connectTimeoutMs);
  const tunnel = openTunnel(
    proxy,
    { address, port: portOf(url) },
    {
      onOpen: () => {
        clearTimeout(timer);
        onTcp();
        if (!isSecure(url)) return events.onReady(tunnel);
        onTunnel(watchDial(connectTls({ socket: tunnel, ...tlsOptions(options) }), options, events));
      },
      onError: (error) => {
        clearTimeout(timer);
        events.onError(error);
      },
    },
  );
  return tunnel;
}

function watchDial(
  socket: Socket,
  { url, connectTimeoutMs }: DialOptions,
  { onReady, onError }: Omit<DialEvents, 'onTcp'>,
): Socket {
  const timer = setTimeout(
    () => socket.destroy(new Error(`no connection within ${connectTimeoutMs} ms`)),
    connectTimeoutMs,
  );
  let done = false;
  socket.once(isSecure(url) ? 'secureConnect' : 'connect', () => {
    done = true;
    clearTimeout(timer);
    onReady(socket);
  });
  socket.on('error', (error) => {
    if (!done) onError(error);
    done = true;
  });
  socket.once('close', () => clearTimeout(timer));
  return socket;
}

const isSecure = ({ protocol }: URL): boolean => protocol === 'https:';
const portOf = (url: URL): number => Number(url.port || (isSecure(url) ? 443 : 80));

function tlsOptions({ url, ca, alpn = ['http/1.1'] }: DialOptions): TlsOptions {
  const host = hostOf(url);
  const servername = isIP(host) === 0 ? host.replace(/\.$/, '') : undefined;
  return {
    host,
    ...(servername && { servername }),
    ...(ca !== undefined && { ca }),
    ...(alpn !== null && { ALPNProtocols: [...alpn] }),
    rejectUnauthorized: true,
  };
}

/**
 * Creates a lookup function that returns only the vetted addresses. Sockets do not call it if the host is an IP
 * address, which has already been vetted.
 */
export const pinned =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (first === undefined) callback(new Error('no address to connect to'), '');
    else if (all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
