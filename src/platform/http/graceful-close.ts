import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from '../ports.ts';

/** How long a connection is kept for another request while the server closes; zero would be for ever (milliseconds). */
const closingKeepAliveMs = 1;

/** A request that is under way to the server when it closes has this long to come in (milliseconds). */
const arrivalMs = 500;

/**
 * Ends connections when the server closes. It closes by itself only those that are idle at that moment. One whose
 * answer is
 * still under way would be kept open for further requests; one that never sends all of its request, for ever.
 */
export function closeGracefully(app: App): void {
  const open = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    app.server.keepAliveTimeout = closingKeepAliveMs; // for answers that have begun already, and said that theirs goes on
    setTimeout(() => {
      for (const socket of open) if (!isAnswered(socket)) socket.destroy();
    }, arrivalMs).unref();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
}

/** Whether a connection has sent a whole request and gets, or waits for, its answer. Node keeps that answer with it. */
const isAnswered = (socket: Socket & { _httpMessage?: ServerResponse | null }): boolean =>
  socket._httpMessage?.req.complete === true;
