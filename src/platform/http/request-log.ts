import { type Logger, loggedUrl } from '../logger.ts';
import type { App } from '../ports.ts';

type AnsweredRequest = { method: string; url: string; id: string; status: number; ms: number };

/** One line for each request at level debug; failures are logged where they are handled. */
export function logRequest(logger: Logger, { method, url, id, status, ms }: AnsweredRequest): void {
  if (!logger.isLevelEnabled('debug')) return;
  logger.debug({ method, url: loggedUrl(url), requestId: id, status, ms: Math.round(ms) }, 'request');
}

/** Logs the requests that the framework serves. */
export function registerRequestLog(app: App, logger: Logger): void {
  if (!logger.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async ({ method, url, id }, { statusCode: status, elapsedTime: ms }) =>
    logRequest(logger, { method, url, id, status, ms }),
  );
}
