import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from './app.ts';

/**
 * Keep-alive timeout for connections whose response began before the server started to close, in milliseconds. It is
 * not 0, because 0 would mean no limit.
 */
const closingKeepAliveMs = 1;

/** When the server closes, timeout for requests that are still being received, in milliseconds. */
const arrivalMs = 500;

/**
 * Makes open connections end when the server closes. Fastify closes only connections that are idle at that moment.
 * Without this function, a connection with a pending response would stay open for more requests, and a connection whose
 * request never completes would stay open forever.
 * @param withHooks scope in which an `onSend` hook adds `connection: close` to responses
 */
export function closeGracefully(app: App, withHooks: App): void {
  const responsesOf = trackResponses(app);
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    app.server.keepAliveTimeout = closingKeepAliveMs;
    setTimeout(() => {
      for (const [socket, responses] of responsesOf)
        if (!responses.some((response) => isOpen(response) && response.req.complete)) socket.destroy();
    }, arrivalMs).unref();
  });
  withHooks.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
}

const isOpen = (response: ServerResponse): boolean => !response.writableFinished;

/**
 * Tracks open connections. For each one, returns its last response and any earlier responses that have not been sent
 * completely, because clients may pipeline requests. The alternative, listening for the end of each response, would
 * take 0.7 µs.
 */
function trackResponses({ server }: App): ReadonlyMap<Socket, readonly ServerResponse[]> {
  const responsesOf = new Map<Socket, ServerResponse[]>();
  server.on('connection', (socket: Socket) => {
    responsesOf.set(socket, []);
    socket.once('close', () => responsesOf.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const responses = responsesOf.get(socket);
    if (responses === undefined) return;
    if (responses.length === 1 && !isOpen(responses[0] as ServerResponse)) responses[0] = response;
    else responsesOf.set(socket, [...responses.filter(isOpen), response]);
  });
  return responsesOf;
}
