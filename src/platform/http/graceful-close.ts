import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from './app.ts';

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
 * The open connections, each with its last response, and those before it that are not sent: a client may send the next
 * request without waiting. Listening to the end of each response took 0.7 µs.
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
