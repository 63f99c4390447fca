import { storeUnavailable } from '../errors.ts';
import { isStoreUnavailable } from './pool.ts';
import type { Pulse } from './pulse.ts';

export type BatcherOptions<Item, Result> = {
  /** Writes a batch and commits it. Answers one result per item, in order. */
  write: (items: readonly Item[]) => Promise<readonly Result[]>;
  pulse: Pulse;
  /** Items in one transaction (count). */
  maxItems?: number;
  /** Transactions under way at once (count). More hide the latency of the commit, fewer make larger groups. */
  lanes?: number;
  /** Items waiting (count) before further ones are refused with 503. */
  maxWaiting?: number;
};

export type Batcher<Item, Result> = {
  /** Resolves after the commit that holds this item. Rejects with `unavailable` (503) when the store is away. */
  add: (item: Item) => Promise<Result>;
  /** Resolves when nothing is waiting or under way. */
  drain: () => Promise<void>;
};

type Entry<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (err: unknown) => void };

/**
 * Group commit: concurrent requests share one transaction. A flush starts at once when a lane is free; what arrives
 * meanwhile forms the next batch. There is no timer and no window. When a batch fails for a reason in its data, its
 * items are tried one by one, so that one bad item harms nobody else.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { write, pulse, maxItems = 256, lanes = 2, maxWaiting = 20_000 } = options;
  let waiting: Entry<Item, Result>[] = [];
  const underWay = new Set<Entry<Item, Result>[]>();
  let scheduled = false;
  let idle: (() => void)[] = [];

  function schedule(): void {
    if (scheduled || waiting.length === 0 || underWay.size >= lanes) return;
    scheduled = true;
    // What the event loop has already read joins the same batch.
    setImmediate(() => {
      scheduled = false;
      if (waiting.length === 0) return settleIdle();
      const batch = waiting.splice(0, maxItems);
      underWay.add(batch);
      void flush(batch).finally(() => {
        underWay.delete(batch);
        schedule();
        settleIdle();
      });
      schedule();
    });
  }

  async function flush(batch: Entry<Item, Result>[]): Promise<void> {
    try {
      const results = await write(batch.map((entry) => entry.item));
      pulse.sawLife();
      batch.forEach((entry, index) => {
        entry.resolve(results[index] as Result);
      });
    } catch (err) {
      if (batch.length === 1 || isStoreUnavailable(err)) return rejectAll(batch, err);
      for (const entry of batch) await flush([entry]);
    }
  }

  function settleIdle(): void {
    if (waiting.length > 0 || underWay.size > 0) return;
    for (const done of idle) done();
    idle = [];
  }

  pulse.onAway(() => {
    const abandoned = waiting;
    waiting = [];
    // The fate of a batch under way is unknown; its clients are told so now instead of being left to hang.
    for (const batch of [abandoned, ...underWay]) rejectAll(batch, storeUnavailable());
    settleIdle();
  });

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        if (!pulse.isUp() || waiting.length >= maxWaiting) return reject(storeUnavailable());
        waiting.push({ item, resolve, reject });
        schedule();
      }),
    drain: () => (waiting.length === 0 && underWay.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
  };
}

function rejectAll<Item, Result>(batch: readonly Entry<Item, Result>[], err: unknown): void {
  const reason = isStoreUnavailable(err) ? storeUnavailable(err) : err;
  for (const entry of batch) entry.reject(reason);
}
