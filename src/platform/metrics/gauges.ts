import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

type Sample = { label?: string; value: number };

export type GaugeOptions = {
  name: string;
  help: string;
  /** Absent: one value without a label. */
  labelName?: string;
  /** Reads the current values, usually by a statement that counts. */
  read: () => Promise<readonly Sample[]>;
  /** How old shown values may be (milliseconds), so that scrapes do not cause more reads. */
  maxAgeMs: number;
  now: () => number;
};

/**
 * A gauge read on demand; the same in all processes, so that a page of all shows one process's values. While it cannot
 * be read, such as while the database is unavailable, it shows no values.
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

/** A database that hangs must not keep a scrape waiting, which tells of just that (milliseconds). */
const readLimitMs = 3000;

/** Reads again when the value is too old; concurrent callers share one read. null: it failed. */
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

/** null: it is not there in time; a later scrape may show it. */
async function withinLimit<Value>(value: Promise<Value | null>): Promise<Value | null> {
  const limit = new AbortController();
  const late = sleep(readLimitMs, null, { signal: limit.signal, ref: false }).catch(() => null);
  return Promise.race([value, late]).finally(() => limit.abort());
}
