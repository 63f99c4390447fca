import type { Socket } from 'node:net';
import type { App } from '../ports.ts';

/** How long clients may take over sending a request, and how often this is looked at (milliseconds). */
export const serverTimeouts = { requestTimeout: 30_000, headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };

/** How often idle connections are ended at the most (milliseconds). */
const reliefMs = 1000;

/**
 * Beyond so many connections those that are idle are ended: each costs memory and a file handle, and whoever is cut off
 * connects again with the next request. Those that send nothing, or too slowly, end by `serverTimeouts`.
 */
export function shedIdleConnections(app: App, crowd = 10_000): void {
  let connections = 0;
  let reliefDueMs = 0;
  app.server.on('connection', (socket: Socket) => {
    connections += 1;
    socket.once('close', () => {
      connections -= 1;
    });
    if (connections <= crowd || performance.now() < reliefDueMs) return;
    reliefDueMs = performance.now() + reliefMs;
    app.server.closeIdleConnections();
  });
}
