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
  /** Items in one transaction (count). */
  maxItems?: number;
  /** Transactions under way at once (count). One suffices for a fast database; more hide the latency of a slow one. */
  maxConcurrentBatches?: number;
  /** Items that are worth a transaction beside one that is under way (count). */
  minConcurrentItems?: number;
  /** Items waiting (count) before further ones are refused with 503. */
  maxWaiting?: number;
  meter?: BatchMeter;
};

export type Batcher<Item, Result> = {
  /** Resolves after the commit of this item. Rejects with `unavailable` (503) when the database is unavailable. */
  add: (item: Item) => Promise<Result>;
  /** Resolves when the items that are waiting or under way now are written, or have failed; null: there are none. */
  written: () => Promise<void> | null;
  /** Resolves when no item is waiting or under way. */
  drain: () => Promise<void>;
};

/** After this time a batch under way counts as slow: the next starts beside it, however small (milliseconds). */
const slowBatchMs = 5;

/** Waiting items (count) that are sent to the database before those of the batch just committed are answered. */
const minEarlyItems = 4;

/**
 * Group commit: concurrent requests share one transaction. A batch starts at once when none is under way; what arrives
 * meanwhile forms the next one, so a single write never waits for others. A second batch starts beside the first only
 * where both are large, because two of half the size cost half as much again. To keep the database busy,
 * `minConcurrentItems` items are sent before more are read, and the next batch goes out before the last is answered.
 * When a batch fails for a reason in its data, its items are written one by one, so that an invalid item fails alone.
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
  /** Whether a batch is worth its transaction: beside another one it is large, or that one is slow. */
  const isDue = (): boolean =>
    underWay.count() === 0 || waiting.length >= minConcurrentItems || performance.now() - startedMs >= slowBatchMs;

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || !mayStart()) return;
    if (!isDue()) {
      if (slowTimer === undefined) slowTimer = setTimeout(onSlow, slowBatchMs);
      return;
    }
    isScheduled = true;
    // What the event loop has already read joins the same batch.
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

/** Whether a batch under way was committed is unknown; its clients are answered now instead of left waiting. */
function abandon<Item, Result>(batches: Iterable<Batch<Item, Result>>): void {
  for (const batch of batches) {
    batch.abandoned = true;
    rejectAll(batch.entries, databaseUnavailable());
  }
}

/** Batches under way, which take their items in the order in which these were added. */
type UnderWay<Batch> = {
  count: () => number;
  batches: () => Iterable<Batch>;
  add: (batch: Batch, items: number) => void;
  /** Whether written or failed; repeats do nothing. */
  end: (batch: Batch) => void;
  /** Resolves when all batches under way have ended, and those that take so many further items. */
  written: (waitingItems: number) => Promise<void>;
  /** Resolves what `written` has promised: the items that were waiting will not be taken. */
  giveUp: () => void;
};

function createUnderWay<Batch>(): UnderWay<Batch> {
  /** The number of their first item, counted from the start. */
  const firsts = new Map<Batch, number>();
  let taken = 0;
  let waits: { upTo: number; resolve: () => void }[] = [];

  const isOver = ({ upTo }: { upTo: number }): boolean =>
    taken >= upTo && [...firsts.values()].every((first) => first >= upTo);

  return {
    count: () => firsts.size,
    batches: () => firsts.keys(),
    add: (batch, items) => {
      firsts.set(batch, taken);
      taken += items;
    },
    end: (batch) => {
      firsts.delete(batch);
      if (waits.length === 0) return;
      for (const { resolve } of waits.filter(isOver)) resolve();
      waits = waits.filter((wait) => !isOver(wait));
    },
    written: (waitingItems) => new Promise((resolve) => waits.push({ upTo: taken + waitingItems, resolve })),
    giveUp: () => {
      for (const { resolve } of waits.splice(0)) resolve();
    },
  };
}
