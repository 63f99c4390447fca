import type { Socket } from 'node:net';
import type { App } from './app.ts';

/**
 * Timeouts for receiving a request and for waiting for the next request, and the interval at which they are checked.
 * All are in milliseconds.
 */
export const serverTimeouts = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 2_000,
};

/** Minimum interval between two passes that close idle connections, in milliseconds. */
const shedIntervalMs = 1000;

/**
 * Closes idle connections when there are more than `maxConnections`, because each connection uses memory and a file
 * handle. Clients can reconnect for their next request. Connections that send no request, or send it too slowly, are
 * closed by `serverTimeouts`.
 */
export function shedIdleConnections(app: App, maxConnections = 10_000): void {
  let connections = 0;
  let nextShedMs = 0;
  app.server.on('connection', (socket: Socket) => {
    connections += 1;
    socket.once('close', () => {
      connections -= 1;
    });
    if (connections <= maxConnections || performance.now() < nextShedMs) return;
    nextShedMs = performance.now() + shedIntervalMs;
    app.server.closeIdleConnections();
  });
}
