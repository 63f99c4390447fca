import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from '../ports.ts';

/** Keep-alive of responses that were begun before the server closes; 0 would mean no limit (milliseconds). */
const closingKeepAliveMs = 1;

/** A request that is still arriving when the server closes may take this long to complete (milliseconds). */
const arrivalMs = 500;

/**
 * Ends connections when the server closes. Fastify closes those that are idle at that moment; without this, one whose
 * response is under way would stay open for further requests, and one that never completes its request would stay open
 * for good.
 * @param withHooks the scope of the routes that leave it to a hook to say so in their answers
 */
export function closeGracefully(app: App, withHooks: App): void {
  const requestsOf = trackRequests(app);
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    app.server.keepAliveTimeout = closingKeepAliveMs;
    setTimeout(() => {
      for (const [socket, requests] of requestsOf)
        if (![...requests].some((request) => request.complete)) socket.destroy();
    }, arrivalMs).unref();
  });
  withHooks.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
}

/** The open connections, each with its requests that have no complete response yet. */
function trackRequests({ server }: App): ReadonlyMap<Socket, ReadonlySet<IncomingMessage>> {
  const requestsOf = new Map<Socket, Set<IncomingMessage>>();
  server.on('connection', (socket: Socket) => {
    requestsOf.set(socket, new Set());
    socket.once('close', () => requestsOf.delete(socket));
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const requests = requestsOf.get(request.socket);
    requests?.add(request);
    response.once('close', () => requests?.delete(request));
  });
  return requestsOf;
}
