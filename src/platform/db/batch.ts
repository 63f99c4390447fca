import { Gauge, Histogram, type Registry } from 'prom-client';
import { databaseUnavailable } from '../errors.ts';
import { registerCounts } from '../metrics/metrics.ts';
import type { Trace } from '../tracing/tracing.ts';
import { isDatabaseUnavailable } from './pool.ts';

export type Entry<Item, Result> = {
  item: Item;
  /** Time when the item was added, from `performance.now()`. */
  sinceMs: number;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (err: unknown) => void;
};

/**
 * Entries that are written together. `abandoned` means that the database became unavailable and all entries were
 * rejected.
 */
export type Batch<Item, Result> = { entries: readonly Entry<Item, Result>[]; abandoned: boolean };

export type BatchWriter<Item, Result> = {
  /**
   * Writes and commits a batch. Returns one result per item, in order. A result may be a promise that resolves later,
   * or that rejects for its item only. Throws only if nothing was committed.
   */
  write: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>;
  dbHealth: {
    isUp: () => boolean;
    onDown: (listener: () => void) => void;
    sawCommit: () => void;
    sawFailure: (err: unknown) => void;
  };
  meter: BatchMeter;
  /** Returns the trace that an item belongs to. */
  traceOf?: (item: Item) => Trace | null;
};

/** Writes a batch, calls `onCommit`, and then settles the entries. Never rejects. */
export async function writeBatch<Item, Result>(
  { write, dbHealth, meter, traceOf }: BatchWriter<Item, Result>,
  batch: Batch<Item, Result>,
  onCommit: () => void,
): Promise<void> {
  const { entries } = batch;
  const startMs = performance.now();
  meter.started(entries.length, startMs - (entries[0]?.sinceMs ?? startMs));
  try {
    const results = await write(entries.map((entry) => entry.item));
    meter.ended(performance.now() - startMs, false);
    if (traceOf !== undefined) traceCommit(entries, startMs, traceOf);
    dbHealth.sawCommit();
    onCommit();
    entries.forEach((entry, index) => {
      entry.resolve(results[index] as Result);
    });
  } catch (err) {
    meter.ended(performance.now() - startMs, true);
    if (entries.length > 1 && !isDatabaseUnavailable(err))
      return writeEach({ write, dbHealth, meter: noBatchMeter }, batch);
    if (isDatabaseUnavailable(err)) {
      batch.abandoned = true;
      dbHealth.sawFailure(err);
    }
    rejectAll(entries, err);
  }
}

/**
 * Adds a commit span to each item's trace. The span starts when the item was added, so it includes the time in the
 * queue.
 */
function traceCommit<Item, Result>(
  entries: readonly Entry<Item, Result>[],
  startMs: number,
  traceOf: (item: Item) => Trace | null,
): void {
  const endMs = performance.now();
  for (const { item, sinceMs } of entries) {
    const attributes = { 'perkwire.batch.items': entries.length, 'perkwire.batch.wait_ms': startMs - sinceMs };
    traceOf(item)?.child('commit', sinceMs, endMs, attributes);
  }
}

/**
 * Writes items one at a time, and stops when the database becomes unavailable. Otherwise, each item would wait for its
 * own timeout.
 */
async function writeEach<Item, Result>(writer: BatchWriter<Item, Result>, batch: Batch<Item, Result>): Promise<void> {
  for (const [at, entry] of batch.entries.entries()) {
    if (batch.abandoned) return rejectAll(batch.entries.slice(at), databaseUnavailable());
    const single = { entries: [entry], abandoned: false };
    await writeBatch(writer, single, () => {});
    batch.abandoned ||= single.abandoned;
  }
}

export function rejectAll<Item, Result>(entries: readonly Entry<Item, Result>[], err: unknown): void {
  const reason = isDatabaseUnavailable(err) ? databaseUnavailable(err) : err;
  for (const entry of entries) entry.reject(reason);
}

/** Metrics of a batcher. They are updated once per batch, regardless of the number of items. */
export type BatchMeter = {
  /**
   * Called when a batch starts.
   * @param waitMs time that the first item was queued, in milliseconds
   */
  started: (items: number, waitMs: number) => void;
  /**
   * Called when a batch ends.
   * @param ms time from the start of the batch to its commit or failure, in milliseconds
   */
  ended: (ms: number, failed: boolean) => void;
  watchWaiting: (read: () => number) => void;
};

/** Returns the meter for batches with the given name. */
export type BatchMeters = (name: string) => BatchMeter;

export const noBatchMeter: BatchMeter = { started: () => {}, ended: () => {}, watchWaiting: () => {} };

const itemBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const waitBucketsS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
const commitBucketsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Creates the metrics of group commits (docs/monitoring.md#metrics). */
export function createBatchMeters(registry: Registry): BatchMeters {
  const common = { labelNames: ['batch'] as const, registers: [registry] };
  const items = new Histogram({
    name: 'perkwire_batch_items',
    help: 'Number of writes per transaction.',
    buckets: itemBuckets,
    ...common,
  });
  const wait = new Histogram({
    name: 'perkwire_batch_wait_seconds',
    help: 'Time in seconds that the first write of a batch waited for its transaction.',
    buckets: waitBucketsS,
    ...common,
  });
  const commit = new Histogram({
    name: 'perkwire_batch_commit_seconds',
    help: 'Time in seconds from the start of a batch to its commit.',
    buckets: commitBucketsS,
    ...common,
  });
  const failures = registerCounts(registry, {
    name: 'perkwire_batch_failures_total',
    help: 'Number of failed batches. If a batch fails because of its data, its writes are retried one by one.',
    labelNames: ['batch'],
  });
  const waiting = new Map<string, () => number>();
  new Gauge({
    name: 'perkwire_batch_waiting',
    help: 'Number of writes that wait for a transaction.',
    ...common,
    collect() {
      for (const [batch, read] of waiting) this.set({ batch }, read());
    },
  });
  return (batch) => {
    const failed = failures(batch);
    return {
      started: (count, waitMs) => {
        items.observe({ batch }, count);
        wait.observe({ batch }, waitMs / 1000);
      },
      ended: (ms, hasFailed) => {
        if (hasFailed) failed.value += 1;
        else commit.observe({ batch }, ms / 1000);
      },
      watchWaiting: (read) => void waiting.set(batch, read),
    };
  };
}
