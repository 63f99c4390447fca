import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Executor } from '../../src/db/pool.ts';
import { newSessionId } from '../../src/session-id.ts';
import { insertBeacons, type TrackedEvent } from '../../src/tracking/batch.ts';
import { createBeaconWriter } from '../../src/tracking/beacon-writer.ts';
import { createRecent } from '../../src/tracking/recent.ts';
import { clonePool } from '../support/database.ts';

let database: Awaited<ReturnType<typeof clonePool>>;
let pool: pg.Pool;

beforeAll(async () => {
  database = await clonePool(4);
  pool = database.pool;
});
afterAll(() => database?.close());
beforeEach(() => pool.query('truncate events'));

const eventOf = (sessionId = newSessionId(Date.now()), kind: TrackedEvent['kind'] = 'impression'): TrackedEvent => ({
  kind,
  sessionId,
  claims: { publisherId: 1, sessionId, offerId: 2, campaignId: 3, position: 1, dev: false },
  atMs: Date.now(),
  suspicious: null,
  revenueMicros: 0,
});

const storedSessions = async (): Promise<string[]> =>
  (await pool.query<{ session_id: string }>('select session_id from events order by session_id')).rows.map((row) => row.session_id);

const sessionsOf = (events: readonly TrackedEvent[]): string[] => events.map(({ sessionId }) => sessionId).sort();

describe('beacons', () => {
  test('of a batch are all stored, also where another process has stored one of them', async () => {
    const events = [eventOf(), eventOf(), eventOf()];
    await createBeaconWriter()(pool, events.slice(1, 2));
    await createBeaconWriter()(pool, events);
    expect(await storedSessions()).toEqual(sessionsOf(events));
  });

  test('are stored once, however often they come', async () => {
    const write = createBeaconWriter();
    const event = eventOf();
    await write(pool, [event, event]);
    await write(pool, [event]);
    await createBeaconWriter()(pool, [event, eventOf(event.sessionId, 'close'), event]);
    const { rows } = await pool.query('select kind from events order by kind');
    expect(rows).toEqual([{ kind: 'close' }, { kind: 'impression' }]);
  });

  test.each(['commit', 'rollback'])('that others are just storing are stored once, in whatever order they come (%s)', async (end) => {
    const startMs = Date.now();
    const events = [0, 1, 2].map((offsetMs) => eventOf(newSessionId(startMs + offsetMs)));
    const holder = await pool.connect();
    await holder.query('begin');
    await insertBeacons(holder, events.slice(1, 2));
    let answered = 0;
    const both = [events, events.toReversed()].map((batch) =>
      createBeaconWriter()(pool, batch).then(() => {
        answered += 1;
      }),
    );
    const waiting = `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while ((await pool.query<{ waiting: number }>(waiting)).rows[0]?.waiting !== 2);
    expect(answered).toBe(0);
    await holder.query(end);
    holder.release();
    await Promise.all(both);
    expect(await storedSessions()).toEqual(sessionsOf(events));
  });

  test('that cannot be stored say why', async () => {
    const tooLate = eventOf(newSessionId(Date.now() + 400 * 86_400_000));
    await expect(createBeaconWriter()(pool, [tooLate])).rejects.toThrow('no partition');
  });
});

describe('a repeat from elsewhere', () => {
  /** A writer at a time that the test sets, and whether it still tries without asking when one of two events is a repeat. */
  function writerAt(startMs: number) {
    const clock = { nowMs: startMs };
    const write = createBeaconWriter(() => clock.nowMs);
    let tries = 0;
    const counting = {
      query: (statement: { name: string }) => {
        if (statement.name === 'insert_first_beacons') tries += 1;
        return pool.query(statement as pg.QueryConfig);
      },
    } as Executor;
    const triesWith = async (): Promise<boolean> => {
      const events = [eventOf(), eventOf()];
      const before = tries;
      await insertBeacons(pool, events.slice(1));
      await write(counting, events);
      expect(await storedSessions()).toEqual(expect.arrayContaining(sessionsOf(events)));
      return tries > before;
    };
    return { clock, triesWith };
  }

  test('costs one batch a second try, and no other for ten seconds, then for twenty, up to an hour', async () => {
    const { clock, triesWith } = writerAt(5_000);
    expect(await triesWith()).toBe(true);
    for (let pauseMs = 10_000; pauseMs < 4 * 3_600_000; pauseMs *= 2) {
      const expectedMs = Math.min(pauseMs, 3_600_000);
      clock.nowMs += expectedMs - 1;
      expect(await triesWith()).toBe(false);
      clock.nowMs += 1;
      expect(await triesWith()).toBe(true);
    }
  });

  test('counts as the first again after a time without', async () => {
    const { clock, triesWith } = writerAt(5_000);
    expect(await triesWith()).toBe(true);
    clock.nowMs += 10_000;
    expect(await triesWith()).toBe(true);
    clock.nowMs += 20_000 + 20_001;
    expect(await triesWith()).toBe(true);
    clock.nowMs += 10_000;
    expect(await triesWith()).toBe(true);
  });
});

describe('the memory of events', () => {
  test('knows what it has just met, and hardly ever what it has not', () => {
    const recent = createRecent();
    const events = Array.from({ length: 20_000 }, () => eventOf());
    expect(events.filter(recent.meet).length).toBeLessThan(20);
    expect(events.filter(recent.meet).length).toBeGreaterThan(19_000);
  });

  test('tells kinds and offers of a session apart', () => {
    const recent = createRecent();
    const event = eventOf();
    const others = [eventOf(event.sessionId, 'close'), { ...event, claims: { ...event.claims, offerId: 3 } }];
    expect([event, ...others, event].map(recent.meet)).toEqual([false, false, false, true]);
  });
});
