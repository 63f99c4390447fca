import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TrackedEvent } from '../../../src/catalog/types.ts';
import type { Executor } from '../../../src/platform/db/pool.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { insertEvents } from '../../../src/tracking/event-rows.ts';
import { createBeaconWriter, createSeenFilter } from '../../../src/tracking/writers.ts';
import { clonePool } from '../../support/database.ts';
import { untilWaiting } from '../../support/locks.ts';
import { trackedEvent } from '../journey.ts';

let database: Awaited<ReturnType<typeof clonePool>>;
let pool: pg.Pool;

beforeAll(async () => {
  database = await clonePool(4);
  pool = database.pool;
});
afterAll(() => database?.close());
beforeEach(() => pool.query('truncate events'));

const storedSessions = async (): Promise<string[]> =>
  (await pool.query<{ session_id: string }>('select session_id from events order by session_id')).rows.map(
    (row) => row.session_id,
  );

const sessionsOf = (events: readonly TrackedEvent[]): string[] => events.map(({ sessionId }) => sessionId).sort();

describe('beacons', () => {
  test('are all stored in a batch, even if another process has stored one of them', async () => {
    const events = [trackedEvent(), trackedEvent(), trackedEvent()];
    await createBeaconWriter()(pool, events.slice(1, 2));
    await createBeaconWriter()(pool, events);
    expect(await storedSessions()).toEqual(sessionsOf(events));
  });

  test('are stored once, however often they arrive', async () => {
    const write = createBeaconWriter();
    const event = trackedEvent();
    await write(pool, [event, event]);
    await write(pool, [event]);
    await createBeaconWriter()(pool, [event, trackedEvent(event.sessionId, 'close'), event]);
    const { rows } = await pool.query('select kind from events order by kind');
    expect(rows).toEqual([{ kind: 'close' }, { kind: 'impression' }]);
  });

  test.each(['commit', 'rollback'])('are stored once by concurrent transactions, in any order (%s)', async (end) => {
    const startMs = Date.now();
    const events = [0, 1, 2].map((offsetMs) => trackedEvent(newUuid7(startMs + offsetMs)));
    const holder = await pool.connect();
    await holder.query('begin');
    await insertEvents(holder, events.slice(1, 2));
    let answered = 0;
    const both = [events, events.toReversed()].map((batch) =>
      createBeaconWriter()(pool, batch).then(() => {
        answered += 1;
      }),
    );
    await untilWaiting(pool, 2);
    expect(answered).toBe(0);
    await holder.query(end);
    holder.release();
    await Promise.all(both);
    expect(await storedSessions()).toEqual(sessionsOf(events));
  });

  test('are rejected with the reason if they cannot be stored', async () => {
    const tooLate = trackedEvent(newUuid7(Date.now() + 400 * 86_400_000));
    await expect(createBeaconWriter()(pool, [tooLate])).rejects.toThrow('no partition');
  });
});

describe('a repeat from another process', () => {
  /**
   * Creates a writer that uses the test's clock. `isUnchecked` returns whether it first inserts a batch that contains a
   * repeat without the check.
   */
  function writerAt(startMs: number) {
    const clock = { nowMs: startMs };
    const write = createBeaconWriter(() => clock.nowMs);
    let attempts = 0;
    const counting = {
      query: (statement: { name: string }) => {
        if (statement.name === 'insert_first_events') attempts += 1;
        return pool.query(statement as pg.QueryConfig);
      },
    } as Executor;
    const isUnchecked = async (): Promise<boolean> => {
      const events = [trackedEvent(), trackedEvent()];
      const before = attempts;
      await insertEvents(pool, events.slice(1));
      await write(counting, events);
      expect(await storedSessions()).toEqual(expect.arrayContaining(sessionsOf(events)));
      return attempts > before;
    };
    return { clock, isUnchecked };
  }

  test('causes one batch without checks, and further ones after 10 s, 20 s and so on up to an hour', async () => {
    const { clock, isUnchecked } = writerAt(5_000);
    expect(await isUnchecked()).toBe(true);
    for (let checkMs = 10_000; checkMs < 4 * 3_600_000; checkMs *= 2) {
      const expectedMs = Math.min(checkMs, 3_600_000);
      clock.nowMs += expectedMs - 1;
      expect(await isUnchecked()).toBe(false);
      clock.nowMs += 1;
      expect(await isUnchecked()).toBe(true);
    }
  });

  test('is treated like the first one again after a longer time without repeats', async () => {
    const { clock, isUnchecked } = writerAt(5_000);
    expect(await isUnchecked()).toBe(true);
    clock.nowMs += 10_000;
    expect(await isUnchecked()).toBe(true);
    clock.nowMs += 20_000 + 20_001;
    expect(await isUnchecked()).toBe(true);
    clock.nowMs += 10_000;
    expect(await isUnchecked()).toBe(true);
  });
});

describe('the seen filter', () => {
  test('recognises events it has just seen, and rarely any others', () => {
    const filter = createSeenFilter();
    const events = Array.from({ length: 20_000 }, () => trackedEvent());
    expect(events.filter(filter.testAndAdd).length).toBeLessThan(20);
    expect(events.filter(filter.testAndAdd).length).toBeGreaterThan(19_000);
  });

  test('distinguishes kinds and offers of a session', () => {
    const filter = createSeenFilter();
    const event = trackedEvent();
    const others = [trackedEvent(event.sessionId, 'close'), { ...event, claims: { ...event.claims, offerId: 3 } }];
    expect([event, ...others, event].map(filter.testAndAdd)).toEqual([false, false, false, true]);
  });
});
