import type { IncomingMessage } from 'node:http';
import type { Span, Trace, Tracing } from '../tracing/tracing.ts';
import type { App } from './app.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Trace of the request, or null if the request is not traced. */
    trace: Trace | null;
  }
}

/** Starts a trace for a request, or continues the trace that the caller sent. */
export const startRequest = (
  tracing: Tracing,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  route: string,
): Span | null => tracing.start(`${method} ${route}`, 'server', singleHeader(headers.traceparent));

const singleHeader = (value: string | string[] | undefined): string | null =>
  typeof value === 'string' ? value : null;

/**
 * Ends a request span and sets its attributes according to the HTTP semantic conventions. Paths and queries are
 * omitted, because they can identify users.
 */
export function endRequest(
  span: Span,
  { method, id }: { method: string; id: string },
  route: string,
  status: number,
): void {
  span.end(
    {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'perkwire.request_id': id,
    },
    status >= 500 ? `status ${status}` : null,
  );
}

/** Whether a request comes from a monitoring tool. Such requests arrive continuously, and nobody needs their traces. */
const isProbe = (route: string): boolean => route.startsWith('/health/') || route === '/metrics';

/** Traces all requests in a scope except probes and metrics scrapes. */
export function traceRequests(app: App, tracing: Tracing): void {
  if (!tracing.isOn) return;
  const spans = new WeakMap<object, Span>();
  app.addHook('onRequest', async (request) => {
    const { url: route = 'unknown' } = request.routeOptions;
    const span = isProbe(route) ? null : startRequest(tracing, request, route);
    if (span === null) return;
    request.trace = span;
    spans.set(request, span);
  });
  app.addHook('onResponse', async (request, { statusCode }) => {
    const span = spans.get(request);
    if (span !== undefined) endRequest(span, request, request.routeOptions.url ?? 'unknown', statusCode);
  });
}
