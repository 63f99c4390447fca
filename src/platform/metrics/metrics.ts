import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Meter } from './dispatcher-meter.ts';

/** What a process measures. Labels are classes of things, never URLs, ids or anything a stranger can make up. */
export type Metrics = {
  dispatcher: Meter;
  /** `route` is the pattern of the route, such as `/images/:id`; `unknown` where none matched. */
  requestEnded: (route: string, status: number, ms: number) => void;
  /** Where the number of webhook calls in flight is read. */
  watchInFlight: (read: () => number) => void;
  registry: Registry;
};

const lagBucketsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800];
const requestBucketsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Metrics of this process, with those of Node (event loop lag, memory, garbage collection). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const lag = new Histogram({
    name: 'perkwire_webhook_lag_seconds',
    help: 'Time from when a webhook call was due to its start.',
    buckets: lagBucketsS,
    registers,
  });
  const tries = new Counter({
    name: 'perkwire_webhook_tries_total',
    help: 'Webhook calls that ended, by what came of them; blocked: an address that may not be called.',
    labelNames: ['class'],
    registers,
  });
  const lost = new Counter({
    name: 'perkwire_webhook_leases_lost_total',
    help: 'Calls whose lease had been taken over.',
    registers,
  });
  const opened = new Counter({
    name: 'perkwire_webhook_breakers_opened_total',
    help: 'Breakers of endpoints that opened.',
    registers,
  });
  const requests = new Histogram({
    name: 'perkwire_http_request_seconds',
    help: 'Requests answered, by route and class of status.',
    labelNames: ['route', 'status'],
    buckets: requestBucketsS,
    registers,
  });
  let inFlight = (): number => 0;
  new Gauge({
    name: 'perkwire_webhook_calls_in_flight',
    help: 'Webhook calls in flight in this process.',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  return {
    dispatcher: {
      started: (lagMs) => lag.observe(Math.max(0, lagMs) / 1000),
      tried: (what) => tries.inc({ class: what }),
      leaseLost: () => lost.inc(),
      breakerOpened: () => opened.inc(),
    },
    requestEnded: (route, status, ms) =>
      requests.observe({ route, status: `${Math.floor(status / 100)}xx` }, ms / 1000),
    watchInFlight: (read) => {
      inFlight = read;
    },
    registry,
  };
}
