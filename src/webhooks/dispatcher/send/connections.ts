import type { Socket } from 'node:net';
import { type buildConnector, Client } from 'undici';
import { type DialEvents, type DialOptions, dial, dialThrough } from './dial.ts';

/** The longest head of a response (bytes). */
export const maxHeadBytes = 16_384;
/** An idle connection is closed after 4 s, or what the receiver announces, up to this. */
const maxIdleMs = 30_000;

/** How far a connection has come. */
export type Phase = 'tcp' | 'tls' | 'open';

export type PoolOptions = DialOptions & {
  /** Every connection of the sender. */
  connections: Set<Connection>;
};

/**
 * The connections to one origin at one list of vetted addresses. Each carries one call at a time; as many as there are
 * calls at once.
 */
export type ConnectionPool = {
  take: () => Connection;
  release: (connection: Connection, reusable: boolean) => void;
  retire: () => void;
};

export function createConnectionPool(options: PoolOptions): ConnectionPool {
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
    release: (connection, reusable) => {
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

/** A client of one socket, which it replaces when the receiver has closed it: again only to the vetted addresses. */
function openConnection(options: PoolOptions, onDisconnect: (connection: Connection) => void): Connection {
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
