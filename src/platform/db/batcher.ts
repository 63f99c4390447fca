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
  /** Maximum number of items in a transaction. */
  maxItems?: number;
  /**
   * Maximum number of concurrent transactions. One is enough for a fast database; more hide the latency of a slow one.
   */
  maxConcurrentBatches?: number;
  /** Minimum number of items to start a transaction while another is under way. */
  minConcurrentItems?: number;
  /** Maximum number of waiting items. Further items are rejected with 503. */
  maxWaiting?: number;
  meter?: BatchMeter;
};

export type Batcher<Item, Result> = {
  /** Adds an item and resolves after its commit. Rejects with `unavailable` (503) if the database is unavailable. */
  add: (item: Item) => Promise<Result>;
  /** Resolves when the items that are waiting or under way now are written or have failed. Null if there are none. */
  written: () => Promise<void> | null;
  /** Resolves when no item is waiting or under way. */
  drain: () => Promise<void>;
};

/**
 * After this time, a running batch counts as slow, and the next one starts concurrently, however small it is
 * (milliseconds).
 */
const slowBatchMs = 5;

/** Number of waiting items that are sent to the database before the previous batch is answered. */
const minEarlyItems = 4;

/**
 * Group commit: concurrent requests share one transaction. A batch starts at once if none is running; items that arrive
 * meanwhile form the next one, so a single write never waits for others. A second batch runs concurrently only if both
 * are large, because two batches of half the size cost half as much again. To keep the database busy,
 * `minConcurrentItems` items are sent before more are read, and the next batch is sent before the last one is answered.
 * If a batch fails because of its data, its items are written one by one, so that only invalid items fail.
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
  /** Whether to start a batch: no other one is running, or it is large, or the running one is slow. */
  const isDue = (): boolean =>
    underWay.count() === 0 || waiting.length >= minConcurrentItems || performance.now() - startedMs >= slowBatchMs;

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || !mayStart()) return;
    if (!isDue()) {
      if (slowTimer === undefined) slowTimer = setTimeout(onSlow, slowBatchMs);
      return;
    }
    isScheduled = true;
    // Items of requests that the event loop has already read join the same batch.
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

/** Running batches. They take items in the order in which these were added. */
type UnderWay<Batch> = {
  count: () => number;
  batches: () => Iterable<Batch>;
  add: (batch: Batch, items: number) => void;
  /** Marks a batch as written or failed. Repeated calls have no effect. */
  end: (batch: Batch) => void;
  /** Resolves when all running batches, and the batches with this number of further items, have ended. */
  written: (waitingItems: number) => Promise<void>;
  /** Resolves all promises of `written`, because the waiting items will not be written. */
  giveUp: () => void;
};

function createUnderWay<Batch>(): UnderWay<Batch> {
  /** Index of the first item of each batch, counted from the start of the process. */
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
