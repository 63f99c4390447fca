import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Batcher, createBatcher } from '../../../src/platform/db/batcher.ts';
import type { DatabaseHealth } from '../../../src/platform/db/health.ts';
import { breakConnections, createPool, transaction } from '../../../src/platform/db/pool.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { cloneDatabase } from '../../support/database.ts';
import { followHealth } from '../../support/health.ts';
import { holdTable } from '../../support/locks.ts';
import { startRelay } from '../../tracking/journey.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let relay: Awaited<ReturnType<typeof startRelay>>;
let dbHealth: DatabaseHealth;
/** Connection pool that the batchers use, which goes through the relay. */
let pool: pg.Pool;
/** Pool with a separate connection to observe the database. */
let observer: pg.Pool;
beforeAll(async () => {
  database = await cloneDatabase();
  relay = await startRelay(database.url);
  observer = createPool({ url: database.url, size: 2, applicationName: 'perkwire-test', onError: () => {} });
  pool = createPool({ url: relay.url, size: 6, applicationName: 'perkwire-test', onError: () => {} });
  await observer.query('create table ledger (id integer primary key, batch integer not null, check (id >= 0))');
  ({ dbHealth } = await followHealth(relay.url));
  dbHealth.onDown(() => breakConnections(pool));
});
beforeEach(async () => {
  relay.restore();
  await expect.poll(dbHealth.isUp).toBe(true);
  await observer.query('truncate ledger');
});
afterAll(async () => {
  await dbHealth?.stop();
  await pool?.end();
  relay?.close();
  await observer?.end();
  await database?.drop();
});

type Ledger = { batcher: Batcher<number, string>; batches: number[][]; mostAtOnce: () => number };

/** Opens a batcher that writes numbers into the ledger. The database rejects negative and duplicate numbers. */
function openLedger(
  options: {
    maxItems?: number;
    maxConcurrentBatches?: number;
    minConcurrentItems?: number;
    maxWaiting?: number;
    dbHealth?: DatabaseHealth;
  } = {},
): Ledger {
  const batches: number[][] = [];
  let underWay = 0;
  let most = 0;
  const write = async (items: readonly number[]): Promise<string[]> => {
    const batch = batches.push([...items]);
    most = Math.max(most, ++underWay);
    try {
      await transaction(pool, (executor) =>
        executor.query('insert into ledger select id, $2 from unnest($1::integer[]) as id', [items, batch]),
      );
      return items.map((item) => `wrote ${item}`);
    } finally {
      underWay -= 1;
    }
  };
  return { batcher: createBatcher({ write, dbHealth, ...options }), batches, mostAtOnce: () => most };
}

const stored = async (): Promise<number[]> =>
  (await observer.query<{ id: number }>('select id from ledger order by id')).rows.map(({ id }) => id);

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const settle = (batcher: Batcher<number, string>, items: readonly number[]): Promise<PromiseSettledResult<string>[]> =>
  Promise.allSettled(items.map((item) => batcher.add(item)));

/** Blocks all writes until the returned function is called. */
const blockWrites = async (): Promise<() => Promise<void>> => (await holdTable(observer, 'ledger')).release;

describe('a write', () => {
  test('is committed before its result is returned', async () => {
    const { batcher } = openLedger();
    const lock = await holdTable(observer, 'ledger');
    let answered = false;
    const write = batcher.add(1).finally(() => {
      answered = true;
    });
    await lock.untilWaitedFor();
    expect(answered).toBe(false);
    await lock.release();
    await write;
    expect(await stored()).toEqual([1]);
  });

  test('shares a transaction with concurrent writes, and each gets its own result', async () => {
    const { batcher, batches, mostAtOnce } = openLedger({ maxItems: 64, maxConcurrentBatches: 2 });
    const items = range(1000);
    const answers = await Promise.all(items.map((item) => batcher.add(item)));
    expect(answers).toEqual(items.map((item) => `wrote ${item}`));
    expect(await stored()).toEqual(items);
    expect(batches.length).toBe(Math.ceil(1000 / 64));
    expect(Math.max(...batches.map((batch) => batch.length))).toBe(64);
    expect(mostAtOnce()).toBe(2);
  });

  test('starts immediately when nothing is in progress', async () => {
    const { batcher, batches } = openLedger();
    for (const item of [1, 2, 3]) await batcher.add(item);
    expect(batches).toEqual([[1], [2], [3]]);
  });

  test('joins the next batch if it arrives while other writes are in progress', async () => {
    const { batcher, batches } = openLedger({ maxConcurrentBatches: 1 });
    const release = await blockWrites();
    const first = batcher.add(0);
    await expect.poll(() => batches.length).toBe(1);
    const later = [batcher.add(1), batcher.add(2)];
    await new Promise(setImmediate);
    const latest = batcher.add(3);
    await release();
    await Promise.all([first, ...later, latest]);
    expect(batches).toEqual([[0], [1, 2, 3]]);
  });

  test('starts at `minConcurrentItems` items, so that the database works while more items are read', async () => {
    const { batcher, batches, mostAtOnce } = openLedger({ maxConcurrentBatches: 2, minConcurrentItems: 3 });
    const writes = range(7).map((item) => batcher.add(item));
    expect(batches).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    await Promise.all(writes);
    expect(batches.slice(2)).toEqual([[6]]);
    expect(mostAtOnce()).toBe(2);
    expect(await stored()).toEqual(range(7));
  });

  test('starts from the queue before the results of the finished batch are returned', async () => {
    const { batcher, batches } = openLedger({ maxConcurrentBatches: 1 });
    const release = await blockWrites();
    const batchesWhenAnswered = batcher.add(0).then(() => batches.length);
    await expect.poll(() => batches.length).toBe(1);
    const later = settle(batcher, range(9).slice(1));
    await release();
    expect(await batchesWhenAnswered).toBe(2);
    await later;
    expect(batches).toEqual([[0], range(9).slice(1)]);
  });
});

describe('an invalid item', () => {
  test('fails by itself, while the rest of its batch is written', async () => {
    const { batcher } = openLedger();
    const results = await settle(batcher, [1, 2, -3, 4, 5]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect((results[2] as PromiseRejectedResult).reason).toMatchObject({ code: '23514' });
    expect((results[4] as PromiseFulfilledResult<string>).value).toBe('wrote 5');
    expect(await stored()).toEqual([1, 2, 4, 5]);
  });

  test('fails with its own error after one attempt if it is the only item in its batch', async () => {
    const { batcher, batches } = openLedger();
    await expect(batcher.add(-1)).rejects.toMatchObject({ code: '23514', constraint: 'ledger_id_check' });
    expect(batches).toEqual([[-1]]);
  });

  test('is isolated for any batch size, and valid items are written once with their own results', async () => {
    const runs = fc.record({
      items: fc.array(fc.integer({ min: -3, max: 60 }), { maxLength: 40 }),
      maxItems: fc.integer({ min: 1, max: 20 }),
      maxConcurrentBatches: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(runs, async ({ items, maxItems, maxConcurrentBatches }) => {
        await observer.query('truncate ledger');
        const { batcher, batches, mostAtOnce } = openLedger({ maxItems, maxConcurrentBatches });
        const results = await settle(batcher, items);
        const written = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
        const good = [...new Set(items.filter((item) => item >= 0))].sort((a, b) => a - b);
        expect(await stored()).toEqual(good);
        // Of several equal numbers, one is written and the others are rejected.
        expect(written.sort()).toEqual(good.map((item) => `wrote ${item}`).sort());
        results.forEach((result, index) => {
          if (result.status === 'fulfilled') expect(result.value).toBe(`wrote ${items[index]}`);
          else expect(['23514', '23505', '40P01']).toContain(result.reason.code);
        });
        expect(Math.max(0, ...batches.map((batch) => batch.length))).toBeLessThanOrEqual(maxItems);
        expect(mostAtOnce()).toBeLessThanOrEqual(maxConcurrentBatches);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the queue', () => {
  test('is bounded, and items beyond the limit are rejected immediately with 503', async () => {
    const { batcher, batches } = openLedger({ maxConcurrentBatches: 1, maxItems: 2, maxWaiting: 5 });
    const release = await blockWrites();
    const under = [batcher.add(0), batcher.add(1)];
    await expect.poll(() => batches.length).toBe(1);
    const waiting = [2, 3, 4, 5, 6].map((item) => batcher.add(item));
    await expect(batcher.add(7)).rejects.toMatchObject({ code: 'unavailable', status: 503, retryAfterS: 1 });
    await release();
    await Promise.all([...under, ...waiting]);
    expect(await stored()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(await batcher.add(8)).toBe('wrote 8');
  });

  test('drains only after every valid item has been written', async () => {
    const { batcher } = openLedger({ maxItems: 3, maxConcurrentBatches: 2 });
    void settle(batcher, [...range(20), -1]);
    await batcher.drain();
    expect(await stored()).toEqual(range(20));
  });

  test('drains immediately if there is nothing to do, including after earlier work', async () => {
    const { batcher } = openLedger();
    await batcher.drain();
    await batcher.add(1);
    await Promise.all([batcher.drain(), batcher.drain()]);
    expect(await stored()).toEqual([1]);
  });
});

describe('when the database becomes unavailable', () => {
  const reasons = (results: PromiseSettledResult<string>[]): unknown[] =>
    results.map((result) =>
      result.status === 'rejected' && result.reason instanceof AppError ? result.reason.code : result.status,
    );

  let release: (() => Promise<void>) | null = null;
  afterEach(async () => {
    await release?.();
    release = null;
  });

  test('pending and running items are rejected with 503, and none hangs', async () => {
    const { batcher, batches } = openLedger({ maxConcurrentBatches: 2, maxItems: 3 });
    release = await blockWrites();
    const results = settle(batcher, range(50));
    await expect.poll(() => batches.length).toBe(2);
    relay.cut();
    expect(reasons(await results)).toEqual(range(50).map(() => 'unavailable'));
    await batcher.drain();
    await expect.poll(dbHealth.isUp).toBe(false);
    await expect(batcher.add(51)).rejects.toMatchObject({ code: 'unavailable', status: 503, retryAfterS: 1 });
    // No item is sent twice.
    expect(batches.flat()).toHaveLength(new Set(batches.flat()).size);
  });

  test('writing continues after it recovers', async () => {
    const { batcher } = openLedger();
    await batcher.add(1);
    relay.cut();
    await expect.poll(dbHealth.isUp).toBe(false);
    expect(reasons(await settle(batcher, [2, 3]))).toEqual(['unavailable', 'unavailable']);
    relay.restore();
    await expect.poll(dbHealth.isUp).toBe(true);
    expect(await batcher.add(4)).toBe('wrote 4');
    expect(await stored()).toEqual([1, 4]);
  });

  test('an item is not retried, because its outcome is unknown', async () => {
    const { batcher, batches } = openLedger();
    release = await blockWrites();
    const results = settle(batcher, [1, 2, 3]);
    await expect.poll(() => batches.length).toBe(1);
    relay.cut();
    expect(reasons(await results)).toEqual(['unavailable', 'unavailable', 'unavailable']);
    await batcher.drain();
    expect(batches).toEqual([[1, 2, 3]]);
    // The pool may notice the failure before the health check does. Wait for the health check, so that it does not
    // affect the next test.
    await expect.poll(dbHealth.isUp).toBe(false);
  });
});

describe('when the database becomes unavailable while a batch is written item by item', () => {
  test('all items are rejected immediately with 503, and writing continues after the recovery', async () => {
    await observer.query(`create function wait_at_seven() returns trigger language plpgsql as
      $$ begin if new.id = 7 then perform pg_advisory_xact_lock(7); end if; return new; end $$`);
    await observer.query(
      'create trigger wait_at_seven before insert on ledger for each row execute function wait_at_seven()',
    );
    const holder = await observer.connect();
    await holder.query('select pg_advisory_lock(7)');
    try {
      const { batcher, batches } = openLedger({ maxItems: 50, maxConcurrentBatches: 1 });
      const results = settle(batcher, [-1, ...range(40)]);
      await expect.poll(() => batches.at(-1)).toEqual([7]);
      relay.cut();
      const reasons = (await results).slice(8).map((result) => (result as PromiseRejectedResult).reason.code);
      expect(reasons).toEqual(reasons.map(() => 'unavailable'));
      await batcher.drain();
      expect(batches.at(-1)).toEqual([7]);
      await expect.poll(dbHealth.isUp).toBe(false);
      relay.restore();
      await expect.poll(dbHealth.isUp).toBe(true);
      expect(await batcher.add(100)).toBe('wrote 100');
    } finally {
      await holder.query('select pg_advisory_unlock(7)');
      holder.release();
      await observer.query('drop trigger wait_at_seven on ledger');
    }
  });
});

describe('a result that arrives after its batch', () => {
  test('is awaited only by its own item, which alone fails if it is rejected', async () => {
    const write = async (items: readonly number[]) =>
      items.map((item) => (item < 0 ? Promise.reject(new Error('not me')) : `wrote ${item}`));
    const results = await settle(createBatcher<number, string>({ write, dbHealth }), [1, -2, 3]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('a slow database', () => {
  test('does not delay later items, because another batch starts in parallel', async () => {
    // The database is slow but available. The health probe is replaced, because it might report otherwise on a busy
    // machine.
    const { batcher, batches, mostAtOnce } = openLedger({
      maxConcurrentBatches: 2,
      dbHealth: { ...dbHealth, isUp: () => true, onDown: () => {} },
    });
    const release = await blockWrites();
    try {
      const first = batcher.add(1);
      await expect.poll(() => batches.length).toBe(1);
      const second = batcher.add(2);
      await expect.poll(() => batches.length).toBe(2);
      await release();
      expect(await Promise.all([first, second])).toEqual(['wrote 1', 'wrote 2']);
    } finally {
      await release();
    }
    expect(mostAtOnce()).toBe(2);
  });
});
