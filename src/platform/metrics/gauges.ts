import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

type Sample = { label?: string; value: number };

export type GaugeOptions = {
  name: string;
  help: string;
  /** Label name. If it is absent, the gauge has a single value without a label. */
  labelName?: string;
  /** Reads the current values, usually with a count query. */
  read: () => Promise<readonly Sample[]>;
  /** Maximum age of cached values, in milliseconds. It limits how often scrapes trigger a read. */
  maxAgeMs: number;
  now: () => number;
};

/**
 * Registers a gauge whose values are read on demand. All processes would report the same values, so a metrics page for
 * all processes shows the values from only one. While the values cannot be read, such as during a database outage, the
 * gauge has none.
 */
export function registerGauge(registry: Registry, { name, help, labelName, read, maxAgeMs, now }: GaugeOptions): void {
  const cached = remember(read, maxAgeMs, now);
  new Gauge({
    name,
    help,
    labelNames: labelName === undefined ? [] : [labelName],
    registers: [registry],
    aggregator: 'first',
    async collect() {
      const samples = await cached();
      this.reset();
      for (const { label, value } of samples ?? [])
        this.set(labelName === undefined || label === undefined ? {} : { [labelName]: label }, value);
    },
  });
}

/** Maximum time that a scrape waits for an unresponsive database, in milliseconds. */
const readLimitMs = 3000;

/**
 * Caches a value and reloads it when it is too old. Concurrent callers share one read. Returns null if the read failed.
 */
export function remember<Value>(
  read: () => Promise<Value>,
  maxAgeMs: number,
  now: () => number,
): () => Promise<Value | null> {
  let value: Promise<Value | null> | null = null;
  let atMs = 0;
  return () => {
    if (value === null || now() - atMs > maxAgeMs) {
      atMs = now();
      value = read().catch(() => null);
    }
    return withinLimit(value);
  };
}

/** Waits for a value, but returns null if it is not available before the timeout. A later scrape may then get it. */
async function withinLimit<Value>(value: Promise<Value | null>): Promise<Value | null> {
  const limit = new AbortController();
  const late = sleep(readLimitMs, null, { signal: limit.signal, ref: false }).catch(() => null);
  return Promise.race([value, late]).finally(() => limit.abort());
}
