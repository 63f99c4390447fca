import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import type { Child } from './child.ts';
import type { Samples } from './messages.ts';

/**
 * Timeout for a metrics request to a process, in milliseconds. If it expires, the last known metrics of that process
 * are used.
 */
const answerMs = 2000;

/** Types of metrics that only increase. Their totals must not drop when a process exits. */
const growing = new Set<unknown>(['counter', 'histogram']);

/** Creates the metrics page for all processes. Its totals still include the metrics of processes that have exited. */
export function createMetricsHub(): { add: (child: Child) => void } {
  const latest = new Map<Child, Samples>();
  const waiting = new Map<number, () => void>();
  let ofEnded: Samples = [];
  let merging: Promise<void> = Promise.resolve();
  let questions = 0;

  async function ask(child: Child): Promise<void> {
    questions += 1;
    const id = questions;
    const answered = new Promise<void>((resolve) => waiting.set(id, resolve));
    child.send({ type: 'samples wanted', id });
    const limit = new AbortController();
    await Promise.race([answered, child.ended, sleep(answerMs, null, { signal: limit.signal, ref: false })]);
    limit.abort();
    waiting.delete(id);
  }

  async function page(): Promise<string> {
    await Promise.all([...latest.keys()].filter((child) => child.isReady()).map(ask));
    return AggregatorRegistry.aggregate([ofEnded, ...latest.values()]).metrics();
  }

  async function keepCounts(child: Child): Promise<void> {
    const last = (latest.get(child) ?? []).filter(({ type }) => growing.has(type));
    ofEnded = await AggregatorRegistry.aggregate([ofEnded, last]).getMetricsAsJSON();
    latest.delete(child);
  }

  return {
    add: (child) => {
      latest.set(child, []);
      child.onReport((report) => {
        if (report.type === 'page wanted')
          void page().then((text) => child.send({ type: 'page', id: report.id, text }));
        if (report.type !== 'samples') return;
        latest.set(child, report.samples);
        waiting.get(report.id)?.();
      });
      void child.ended.then(() => {
        merging = merging.then(() => keepCounts(child));
      });
    },
  };
}
