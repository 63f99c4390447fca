import type { App } from '../deps.ts';

/** How long a connection is kept for another request while the server closes; zero would be for ever (milliseconds). */
const closingKeepAliveMs = 1;

/**
 * Ends connections when the server closes. It closes by itself only those that are idle at that moment: one whose answer is
 * still under way would be kept open for further requests, and hold up the stop for as long as it lives.
 */
export function endConnections(app: App): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    app.server.keepAliveTimeout = closingKeepAliveMs; // for answers that have begun already, and said that theirs goes on
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
}
