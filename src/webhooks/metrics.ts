import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Meter } from './dispatcher/meter.ts';

export type DispatcherMetrics = {
  meter: Meter;
  /** @param read the number of webhook calls in flight in this process */
  watchInFlight: (read: () => number) => void;
};

const lagBucketsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800];

/** Registers the metrics of this process's dispatcher; without the role `worker` they stay 0. */
export function createDispatcherMetrics(registry: Registry): DispatcherMetrics {
  const registers = [registry];
  const lag = new Histogram({
    name: 'perkwire_webhook_lag_seconds',
    help: 'Time from when a webhook call was due to its start.',
    buckets: lagBucketsS,
    registers,
  });
  const attempts = new Counter({
    name: 'perkwire_webhook_attempts_total',
    help: 'Webhook attempts that ended, by outcome; blocked: the address guard refused the address.',
    labelNames: ['outcome'],
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
    meter: {
      started: (lagMs) => lag.observe(Math.max(0, lagMs) / 1000),
      attempted: (outcome) => attempts.inc({ outcome }),
      leaseLost: () => lost.inc(),
      breakerOpened: () => opened.inc(),
    },
    watchInFlight: (read) => {
      inFlight = read;
    },
  };
}
