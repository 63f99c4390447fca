import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { version } from '../version.ts';

/** Metrics of a process. Label values come from fixed sets, and are never URLs, IDs or client-supplied text. */
export type Metrics = {
  /**
   * Records a response. `route` is the route pattern, such as `/images/:id`, or `unknown` if no route matched. `ms` is
   * the duration in milliseconds.
   */
  requestEnded: (route: string, status: number, ms: number) => void;
  /** Registry to which modules add their metrics. */
  registry: Registry;
  /** Returns the response body of `GET /metrics`, in the Prometheus text format. */
  page: () => Promise<string>;
};

/**
 * Creates the function that builds the metrics page, either for this process or for all processes that listen on the
 * same port.
 */
export type MetricsPage = (registry: Registry) => () => Promise<string>;

const ownPage: MetricsPage = (registry) => () => registry.metrics();

const requestBucketsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

type MetricsOptions = {
  /** Whether metrics are exposed. If not, metrics that cost time per request or in the background are not collected. */
  isShown: boolean;
  pageOf?: MetricsPage | undefined;
};

/** Creates the HTTP metrics of this process, and the Node metrics (event loop lag, memory, garbage collection). */
export function createMetrics({ isShown, pageOf = ownPage }: MetricsOptions): Metrics {
  const registry = new Registry();
  const requests = new Histogram({
    name: 'perkwire_http_request_duration_seconds',
    help: 'Duration of HTTP requests in seconds, by route and status class.',
    labelNames: ['route', 'status'],
    buckets: requestBucketsS,
    registers: [registry],
  });
  new Gauge({
    name: 'perkwire_build_info',
    help: 'Always 1. The label contains the running release.',
    labelNames: ['version'],
    registers: [registry],
    aggregator: 'max',
  }).set({ version }, 1);
  if (isShown) collectDefaultMetrics({ register: registry });
  return {
    requestEnded: isShown
      ? (route, status, ms) => requests.observe({ route, status: `${Math.floor(status / 100)}xx` }, ms / 1000)
      : () => {},
    registry,
    page: pageOf(registry),
  };
}

/** Counts every response by its route pattern. */
export function countRequests(app: Pick<FastifyInstance, 'addHook'>, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    metrics.requestEnded(request.routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime);
  });
}

/** Counter value for one combination of labels. */
export type Count = { value: number };

/**
 * Registers a counter for hot paths. Callers increment plain numbers, which are read when metrics are scraped. An
 * increment takes 0.01 µs, compared with 0.2 µs for a labelled prom-client counter. Once requested, a label combination
 * is exposed even while its value is 0.
 * @returns a function that finds or creates the count for label values, given in the order of `labelNames`
 */
export function registerCounts(
  registry: Registry,
  { name, help, labelNames }: { name: string; help: string; labelNames: readonly string[] },
): (...labelValues: string[]) => Count {
  const lines = new Map<string, { labels: Record<string, string>; count: Count }>();
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, count } of lines.values()) this.inc(labels, count.value);
    },
  });
  return (...labelValues) => {
    const key = labelValues.join(' ');
    const existingLine = lines.get(key);
    if (existingLine !== undefined) return existingLine.count;
    const labels = Object.fromEntries(labelNames.map((label, index) => [label, labelValues[index] as string]));
    const count = { value: 0 };
    lines.set(key, { labels, count });
    return count;
  };
}
