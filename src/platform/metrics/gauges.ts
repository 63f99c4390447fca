import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

type Sample = { label?: string; value: number };

export type GaugeOptions = {
  name: string;
  help: string;
  /** Name of the label; if absent, the gauge has one value without a label. */
  labelName?: string;
  /** Reads the current values, usually by a statement that counts. */
  read: () => Promise<readonly Sample[]>;
  /** Maximum age of values (milliseconds), so that scrapes do not cause more reads. */
  maxAgeMs: number;
  now: () => number;
};

/**
 * Registers a gauge that is read on demand. It is the same in all processes, so a page of all processes shows one
 * process's values. While it cannot be read, such as while the database is unavailable, it has no values.
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

/** Maximum time that a scrape waits for a database that hangs (milliseconds). */
const readLimitMs = 3000;

/** Caches a value and reads it again when it is too old. Concurrent callers share one read. Null if the read failed. */
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

/** Returns null if the value is not available in time. A later scrape may show it. */
async function withinLimit<Value>(value: Promise<Value | null>): Promise<Value | null> {
  const limit = new AbortController();
  const late = sleep(readLimitMs, null, { signal: limit.signal, ref: false }).catch(() => null);
  return Promise.race([value, late]).finally(() => limit.abort());
}
