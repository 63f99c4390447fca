import type { App } from '../deps.ts';

/** How often idle connections are looked for while the server closes (milliseconds). */
const lookMs = 50;

/**
 * Ends connections when the server closes. It closes by itself only those that are idle at that moment: one whose answer is
 * still under way would be kept open for further requests, and hold up the stop for as long as it lives.
 */
export function endConnections(app: App): void {
  let closing = false;
  let timer: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    closing = true;
    timer = setInterval(() => app.server.closeIdleConnections(), lookMs);
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('onClose', async () => clearInterval(timer));
}
