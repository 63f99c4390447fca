import { databaseUnavailable } from '../errors.ts';
import type { DatabaseHealth } from './health.ts';
import { isDatabaseUnavailable } from './pool.ts';

export type BatcherOptions<Item, Result> = {
  /**
   * Writes a batch and commits it. Answers one result per item, in order; one that is a promise may come later, or fail
   * for
   * its item alone. Throws only where nothing was committed.
   */
  write: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>;
  dbHealth: DatabaseHealth;
  /** Items in one transaction (count). */
  maxItems?: number;
  /** Transactions under way at once (count). One does while the store is quick; more hide the latency of a slow one. */
  lanes?: number;
  /** Items that are worth a transaction beside one that is under way (count). */
  enough?: number;
  /** Items waiting (count) before further ones are refused with 503. */
  maxWaiting?: number;
};

export type Batcher<Item, Result> = {
  /** Resolves after the commit that holds this item. Rejects with `unavailable` (503) when the store is away. */
  add: (item: Item) => Promise<Result>;
  /** Resolves when nothing is waiting or under way. */
  drain: () => Promise<void>;
};

/**
 * How long a batch has the store to itself before the next, if it is smaller than `enough`, starts beside it
 * (milliseconds).
 */
const probeTimeoutMs = 5;

/** Items waiting (count) that go to the store before those of the batch that came back are answered. */
const worthHurry = 4;

type Entry<Item, Result> = {
  item: Item;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (err: unknown) => void;
};

/** Entries that are written together. `givenUp`: the store went away meanwhile, and all of them were told. */
type Batch<Item, Result> = { entries: readonly Entry<Item, Result>[]; givenUp: boolean };

/**
 * Group commit: concurrent requests share one transaction. A flush starts at once when nothing is under way; what
 * arrives
 * meanwhile forms the next batch. A single write waits for no window. While the store is quick there is one transaction
 * at
 * a time, or one beside it where both are large: two of half the size cost half as much again. The store is kept at
 * work
 * while others read and are answered: `enough` items are sent before more are read, and the next batch goes out before
 * the
 * last is answered. When a batch fails for a reason in its data, its items are tried one by one, so that one bad item
 * harms
 * nobody else.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { write, dbHealth, maxItems = 256, lanes = 2, enough = maxItems, maxWaiting = 20_000 } = options;
  let waiting: Entry<Item, Result>[] = [];
  const underWay = new Set<Batch<Item, Result>>();
  let scheduled = false;
  let startedMs = 0;
  let timer: NodeJS.Timeout | null = null;
  let idle: (() => void)[] = [];

  function schedule(): void {
    if (scheduled || waiting.length === 0 || !hasLane()) return;
    if (!isDue()) {
      waitUntilDue();
      return;
    }
    scheduled = true;
    // What the event loop has already read joins the same batch.
    setImmediate(() => {
      scheduled = false;
      if (waiting.length === 0) return settleIdle();
      if (hasLane() && isDue()) start();
      schedule();
    });
  }

  function start(): void {
    const batch = { entries: waiting.splice(0, maxItems), givenUp: false };
    startedMs = performance.now();
    underWay.add(batch);
    void flush(batch).finally(() => {
      underWay.delete(batch);
      schedule();
      settleIdle();
    });
  }

  function waitUntilDue(): void {
    if (timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      schedule();
    }, probeTimeoutMs);
  }

  const hasLane = (): boolean => underWay.size < lanes;

  /** Whether a batch is worth its transaction: beside another one it is large, or that one takes long. */
  const isDue = (): boolean =>
    underWay.size === 0 || waiting.length >= enough || performance.now() - startedMs >= probeTimeoutMs;

  async function flush(batch: Batch<Item, Result>): Promise<void> {
    const { entries } = batch;
    try {
      const results = await write(entries.map((entry) => entry.item));
      dbHealth.sawAnswer();
      underWay.delete(batch);
      if (waiting.length >= worthHurry && hasLane() && isDue()) start();
      entries.forEach((entry, index) => {
        entry.resolve(results[index] as Result);
      });
    } catch (err) {
      if (entries.length > 1 && !isDatabaseUnavailable(err)) return flushEach(batch);
      rejectAll(entries, err);
      if (isDatabaseUnavailable(err)) batch.givenUp = true;
    }
  }

  /** One by one, as long as the store is there: a silent one would take its time for each. */
  async function flushEach(batch: Batch<Item, Result>): Promise<void> {
    for (const [at, entry] of batch.entries.entries()) {
      if (batch.givenUp) return rejectAll(batch.entries.slice(at), databaseUnavailable());
      const one = { entries: [entry], givenUp: false };
      await flush(one);
      batch.givenUp ||= one.givenUp;
    }
  }

  function settleIdle(): void {
    if (waiting.length > 0 || underWay.size > 0) return;
    for (const done of idle) done();
    idle = [];
  }

  dbHealth.onDown(() => {
    const abandoned = waiting;
    waiting = [];
    // The fate of a batch under way is unknown; its clients are told so now instead of being left to hang.
    rejectAll(abandoned, databaseUnavailable());
    for (const batch of underWay) {
      batch.givenUp = true;
      rejectAll(batch.entries, databaseUnavailable());
    }
    settleIdle();
  });

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        if (!dbHealth.isUp() || waiting.length >= maxWaiting) return reject(databaseUnavailable());
        waiting.push({ item, resolve, reject });
        if (waiting.length >= enough && hasLane()) start();
        else schedule();
      }),
    drain: () =>
      waiting.length === 0 && underWay.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve)),
  };
}

function rejectAll<Item, Result>(batch: readonly Entry<Item, Result>[], err: unknown): void {
  const reason = isDatabaseUnavailable(err) ? databaseUnavailable(err) : err;
  for (const entry of batch) entry.reject(reason);
}
