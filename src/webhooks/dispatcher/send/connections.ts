import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import { type buildConnector, Client } from 'undici';
import type { HttpProxy } from '../../../config.ts';
import { hostOf, type ResolvedAddress } from './address-guard.ts';
import { openTunnel } from './proxy.ts';

/** The longest head of a response (bytes). */
export const maxHeadBytes = 16_384;
/** An idle connection is closed after 4 s, or what the receiver announces, up to this. */
const maxIdleMs = 30_000;

/** How far a connection has come. */
export type Phase = 'tcp' | 'tls' | 'open';

type LaneOptions = {
  url: URL;
  addresses: readonly ResolvedAddress[];
  connectTimeoutMs: number;
  ca: string | undefined;
  proxy: HttpProxy | null;
  now: () => number;
  /** Every connection of the sender. */
  connections: Set<Connection>;
};

/**
 * The connections to one origin at one list of vetted addresses. Each carries one call at a time; as many as there are
 * calls at once.
 */
export type Lane = {
  take: () => Connection;
  give: (connection: Connection, reusable: boolean) => void;
  retire: () => void;
};

export function createLane(options: LaneOptions): Lane {
  const idle: Connection[] = [];
  let retired = false;
  const drop = (connection: Connection): void => {
    const at = idle.indexOf(connection);
    if (at < 0) return;
    idle.splice(at, 1);
    void connection.destroy();
  };
  return {
    take: () => {
      const connection = idle.pop() ?? openConnection(options, drop);
      connection.connectMs = null;
      connection.tlsMs = null;
      return connection;
    },
    give: (connection, reusable) => {
      if (reusable && !retired && connection.isOpen()) idle.push(connection);
      else void connection.destroy();
    },
    retire: () => {
      retired = true;
      for (const connection of idle.splice(0)) void connection.destroy();
    },
  };
}

export type Connection = {
  client: Client;
  phase: Phase;
  /**
   * Time the call that has this connection spent on TCP and then on TLS, milliseconds; null where it was open already,
   * or came not that far.
   */
  connectMs: number | null;
  tlsMs: number | null;
  remoteAddress: string;
  isOpen: () => boolean;
  /** Ends it at once, also while it is being made. Resolves when it is closed; may be called again. */
  destroy: () => Promise<void>;
};

/**
 * A client of one socket, which it may have to make anew when the receiver has closed it: then again only to the vetted
 * addresses.
 */
function openConnection(options: LaneOptions, onDisconnect: (connection: Connection) => void): Connection {
  let socket: Socket | null = null;
  const connect: buildConnector.connector = (_options, callback) => {
    let startMs = options.now();
    const lap = (): number => options.now() - startMs;
    connection.phase = 'tcp';
    const events: DialEvents = {
      onTcp: () => {
        connection.phase = 'tls';
        connection.connectMs = lap();
        startMs = options.now();
      },
      onReady: (ready) => {
        connection.phase = 'open';
        if (options.url.protocol === 'https:') connection.tlsMs = lap();
        connection.remoteAddress =
          options.proxy === null ? (ready.remoteAddress ?? '') : (options.addresses[0]?.address ?? '');
        callback(null, ready);
      },
      onError: (error) => callback(error, null),
    };
    if (options.proxy === null) socket = dial(options, events);
    else socket = dialThrough(options.proxy, options, events, (tunnel) => (socket = tunnel));
  };
  const client = new Client(options.url.origin, {
    connect,
    pipelining: 1,
    maxHeaderSize: maxHeadBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: maxIdleMs,
  });
  const connection: Connection = {
    client,
    phase: 'tcp',
    connectMs: null,
    tlsMs: null,
    remoteAddress: '',
    isOpen: () => socket !== null && !socket.destroyed,
    destroy: () => {
      options.connections.delete(connection);
      socket?.destroy();
      return client.destroy();
    },
  };
  options.connections.add(connection);
  client.on('disconnect', () => onDisconnect(connection));
  return connection;
}

type DialEvents = { onTcp: () => void; onReady: (socket: Socket) => void; onError: (error: Error) => void };

/**
 * Connects to the vetted addresses, one after the other, and to nothing else: the socket's own lookup answers with
 * them.
 */
function dial(options: LaneOptions, { onTcp, ...events }: DialEvents): Socket {
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
 * Has the proxy connect to the first vetted address; inside it TLS speaks to the host of the URL. `onTunnel` gets the
 * socket it runs over.
 */
function dialThrough(
  proxy: HttpProxy,
  options: LaneOptions,
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
  { url, connectTimeoutMs }: LaneOptions,
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

function tlsOptions({ url, ca }: LaneOptions): TlsOptions {
  const host = hostOf(url);
  const servername = isIP(host) === 0 ? host.replace(/\.$/, '') : undefined;
  return {
    host,
    ...(servername && { servername }),
    ...(ca !== undefined && { ca }),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  };
}

/**
 * A lookup that knows these addresses only. It is not asked where the host is an address, which was vetted as it
 * stands.
 */
const pinned =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (first === undefined) callback(new Error('no address to connect to'), '');
    else if (all) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
