import { type Logger, loggedUrl } from '../logger.ts';
import type { App } from '../ports.ts';

/** One line for each request at level debug; failures are logged where they are handled. */
export function logRequest(
  logger: Logger,
  { method, url, id }: { method: string; url: string; id: string },
  status: number,
  ms: number,
): void {
  if (!logger.isLevelEnabled('debug')) return;
  logger.debug({ method, url: loggedUrl(url), requestId: id, status, ms: Math.round(ms) }, 'request');
}

/** Logs the requests of a scope. */
export function registerRequestLog(app: App, logger: Logger): void {
  if (!logger.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, { statusCode, elapsedTime }) =>
    logRequest(logger, request, statusCode, elapsedTime),
  );
}
