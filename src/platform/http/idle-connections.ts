import type { Socket } from 'node:net';
import type { App } from './app.ts';

/** Timeouts for a request and for the next one, and the interval at which they are checked (milliseconds). */
export const serverTimeouts = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 2_000,
};

/** Minimum interval between two rounds of closing idle connections (milliseconds). */
const shedIntervalMs = 1000;

/**
 * Closes idle connections above `maxConnections`. Each costs memory and a file handle, and its client reconnects with
 * the next request. Connections that send no request, or too slowly, end by `serverTimeouts`.
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
