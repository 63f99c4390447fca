import { Gauge, Histogram, type Registry } from 'prom-client';
import { registerCounts } from '../metrics/counts.ts';

/** Measures the batches of one batcher: once for each, however many items it has. */
export type BatchMeter = {
  /** @param waitMs how long its first item has waited */
  started: (items: number, waitMs: number) => void;
  /** @param ms from its start to its commit, or failure */
  ended: (ms: number, failed: boolean) => void;
  watchWaiting: (read: () => number) => void;
};

/** The meter of the batches with this name. */
export type BatchMeters = (name: string) => BatchMeter;

export const noBatchMeter: BatchMeter = { started: () => {}, ended: () => {}, watchWaiting: () => {} };

const itemBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const waitBucketsS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
const commitBucketsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Metrics of group commits (docs/operations.md#metrics). */
export function createBatchMeters(registry: Registry): BatchMeters {
  const common = { labelNames: ['batch'] as const, registers: [registry] };
  const items = new Histogram({
    name: 'perkwire_batch_items',
    help: 'Writes that share a transaction.',
    buckets: itemBuckets,
    ...common,
  });
  const wait = new Histogram({
    name: 'perkwire_batch_wait_seconds',
    help: 'Time that the first write of a batch waited for its transaction to start.',
    buckets: waitBucketsS,
    ...common,
  });
  const commit = new Histogram({
    name: 'perkwire_batch_commit_seconds',
    help: 'Time from the start of a batch to its commit.',
    buckets: commitBucketsS,
    ...common,
  });
  const failures = registerCounts(registry, {
    name: 'perkwire_batch_failures_total',
    help: 'Batches that were not committed. The writes of one that failed for its data are written one by one.',
    labelNames: ['batch'],
  });
  const waiting = new Map<string, () => number>();
  new Gauge({
    name: 'perkwire_batch_waiting',
    help: 'Writes that wait for a transaction.',
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
