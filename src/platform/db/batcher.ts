import { databaseUnavailable } from '../errors.ts';
import {
  type Batch,
  type BatchMeter,
  type BatchWriter,
  type Entry,
  noBatchMeter,
  rejectAll,
  writeBatch,
} from './batch.ts';

export type BatcherOptions<Item, Result> = Omit<BatchWriter<Item, Result>, 'meter'> & {
  /** Maximum number of items per transaction. */
  maxItems?: number;
  /**
   * Maximum number of concurrent transactions. One is enough for a fast database; more hide the latency of a slow one.
   */
  maxConcurrentBatches?: number;
  /** Minimum number of items required to start a transaction while another one is running. */
  minConcurrentItems?: number;
  /** Maximum number of queued items. Further items are rejected with 503. */
  maxWaiting?: number;
  meter?: BatchMeter;
};

export type Batcher<Item, Result> = {
  /** Adds an item. Resolves after the commit, or rejects with `unavailable` (503) if the database is unavailable. */
  add: (item: Item) => Promise<Result>;
  /**
   * Returns a promise that resolves when all currently queued or running items have been written or have failed.
   * Returns null if there are no such items.
   */
  written: () => Promise<void> | null;
  /** Resolves when no items are queued or running. */
  drain: () => Promise<void>;
};

/**
 * Duration after which a running batch is considered slow, in milliseconds. The next batch then starts concurrently,
 * regardless of its size.
 */
const slowBatchMs = 5;

/**
 * Minimum number of queued items for sending the next batch before the previous batch's response has been processed.
 */
const minEarlyItems = 4;

/**
 * Creates a batcher for group commits, in which concurrent requests share one transaction.
 * - If no batch is running, one starts immediately. Items that arrive while it runs form the next batch, so a single
 *   write never waits for others.
 * - A second batch runs concurrently only if both are large, because two batches of half the size cost 50% more than
 *   one.
 * - To keep the database busy, a batch is sent as soon as `minConcurrentItems` items are queued, before more requests
 *   are read. The next batch is sent before the previous batch's response is processed.
 * - If a batch fails because of its data, its items are written individually, so that only invalid items fail.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { dbHealth, maxItems = 256, maxConcurrentBatches = 2, maxWaiting = 20_000, meter = noBatchMeter } = options;
  const { minConcurrentItems = maxItems } = options;
  const waiting: Entry<Item, Result>[] = [];
  const underWay = createUnderWay<Batch<Item, Result>>();
  let isScheduled = false;
  let startedMs = 0;
  let slowTimer: NodeJS.Timeout | undefined;
  const onIdle: (() => void)[] = [];

  const mayStart = (): boolean => underWay.count() < maxConcurrentBatches;
  /** Whether to start a batch: no other batch is running, the new batch is large, or the running batch is slow. */
  const isDue = (): boolean =>
    underWay.count() === 0 || waiting.length >= minConcurrentItems || performance.now() - startedMs >= slowBatchMs;

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || !mayStart()) return;
    if (!isDue()) {
      if (slowTimer === undefined) slowTimer = setTimeout(onSlow, slowBatchMs);
      return;
    }
    isScheduled = true;
    // Wait until the event loop has handled the requests that it has already read, so that their items join this batch.
    setImmediate(() => {
      isScheduled = false;
      if (waiting.length === 0) return settleIdle();
      if (mayStart() && isDue()) start();
      schedule();
    });
  }

  function onSlow(): void {
    slowTimer = undefined;
    schedule();
  }

  function start(): void {
    const batch = { entries: waiting.splice(0, maxItems), abandoned: false };
    startedMs = performance.now();
    underWay.add(batch, batch.entries.length);
    const startNext = (): void => {
      underWay.end(batch);
      if (waiting.length >= minEarlyItems && mayStart() && isDue()) start();
    };
    void writeBatch({ ...options, meter }, batch, startNext).finally(() => {
      underWay.end(batch);
      schedule();
      settleIdle();
    });
  }

  const isIdle = (): boolean => waiting.length === 0 && underWay.count() === 0;

  function settleIdle(): void {
    if (!isIdle()) return;
    for (const resolve of onIdle.splice(0)) resolve();
  }

  meter.watchWaiting(() => waiting.length);
  dbHealth.onDown(() => {
    rejectAll(waiting.splice(0), databaseUnavailable());
    abandon(underWay.batches());
    underWay.giveUp();
    settleIdle();
  });

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        if (!dbHealth.isUp() || waiting.length >= maxWaiting) return reject(databaseUnavailable());
        waiting.push({ item, sinceMs: performance.now(), resolve, reject });
        if (waiting.length >= minConcurrentItems && mayStart()) start();
        else schedule();
      }),
    written: () => (isIdle() ? null : underWay.written(waiting.length)),
    drain: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => onIdle.push(resolve))),
  };
}

/**
 * Rejects the items of running batches. Whether they were committed is unknown, but their clients should not wait any
 * longer.
 */
function abandon<Item, Result>(batches: Iterable<Batch<Item, Result>>): void {
  for (const batch of batches) {
    batch.abandoned = true;
    rejectAll(batch.entries, databaseUnavailable());
  }
}

/** Tracks running batches. Batches take items in the order in which the items were added. */
type UnderWay<Batch> = {
  count: () => number;
  batches: () => Iterable<Batch>;
  add: (batch: Batch, items: number) => void;
  /** Marks a batch as written or failed. Idempotent. */
  end: (batch: Batch) => void;
  /** Resolves when all running batches and the next `waitingItems` queued items have been written or have failed. */
  written: (waitingItems: number) => Promise<void>;
  /** Resolves all pending promises of `written`, because the queued items will not be written. */
  giveUp: () => void;
};

function createUnderWay<Batch>(): UnderWay<Batch> {
  /** Index of the first item in each batch, counted since the process started. */
  const firstItems = new Map<Batch, number>();
  let itemCount = 0;
  let waits: { upTo: number; resolve: () => void }[] = [];

  const isOver = ({ upTo }: { upTo: number }): boolean =>
    itemCount >= upTo && [...firstItems.values()].every((first) => first >= upTo);

  return {
    count: () => firstItems.size,
    batches: () => firstItems.keys(),
    add: (batch, items) => {
      firstItems.set(batch, itemCount);
      itemCount += items;
    },
    end: (batch) => {
      firstItems.delete(batch);
      if (waits.length === 0) return;
      for (const { resolve } of waits.filter(isOver)) resolve();
      waits = waits.filter((wait) => !isOver(wait));
    },
    written: (waitingItems) => new Promise((resolve) => waits.push({ upTo: itemCount + waitingItems, resolve })),
    giveUp: () => {
      for (const { resolve } of waits.splice(0)) resolve();
    },
  };
}
