import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertNoThanks, type NoThanks } from '../../src/budgets/opt-outs.ts';
import type { Executor } from '../../src/platform/db/pool.ts';
import { dayMs } from '../../src/platform/lib/time.ts';
import { dayOfUuid7, newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { type Click, insertClicks } from '../../src/tracking/clicks/insert-clicks.ts';
import { insertEvents } from '../../src/tracking/event-rows.ts';
import { clonePool } from '../support/database.ts';
import { untilWaiting } from '../support/locks.ts';
import { trackedEvent } from './journey.ts';

let database: Awaited<ReturnType<typeof clonePool>>;
let pool: pg.Pool;

beforeAll(async () => {
  database = await clonePool(4);
  pool = database.pool;
});
afterAll(() => database?.close());
beforeEach(() => pool.query('truncate events'));

type Event = NoThanks & Click;

const writers: [Event['kind'], (executor: Executor, events: readonly Event[]) => Promise<unknown>][] = [
  ['impression', insertEvents],
  ['close', insertEvents],
  ['no_thanks', insertNoThanks],
  ['click', insertClicks],
];

const eventOf = (kind: Event['kind'], sessionId: string): Event => ({
  ...trackedEvent(sessionId, kind),
  optOutDays: null,
  recorded: true,
  wantsSession: false,
});

describe.each(writers)('a batch of %s events', (kind, insert) => {
  test('may contain the same event several times', async () => {
    const event = eventOf(kind, newUuid7(Date.now()));
    await insert(pool, [event, event, { ...event }, { ...event, atMs: event.atMs + 1 }]);
    expect((await pool.query('select kind from events')).rows).toEqual([{ kind }]);
  });

  test('may contain events from sessions of different days', async () => {
    const todayMs = Date.now();
    const sessions = [todayMs, todayMs - dayMs, todayMs].map(newUuid7);
    await insert(
      pool,
      sessions.map((sessionId) => eventOf(kind, sessionId)),
    );
    const { rows } = await pool.query<{ day: string; session_id: string }>('select day::text, session_id from events');
    expect(rows).toHaveLength(3);
    expect(rows).toEqual(expect.arrayContaining(sessions.map((id) => ({ day: dayOfUuid7(id), session_id: id }))));
  });

  test('never deadlocks with a batch of the same events in another order', async () => {
    const startMs = Date.now();
    const events = [0, 1, 2].map((offsetMs) => eventOf(kind, newUuid7(startMs + offsetMs)));
    const holder = await pool.connect();
    await holder.query('begin');
    await insert(holder, [events[1] as Event]);
    const both = Promise.allSettled([insert(pool, events), insert(pool, events.toReversed())]);
    await untilWaiting(pool, 2);
    await holder.query('rollback');
    holder.release();
    expect((await both).map((outcome) => outcome.status)).toEqual(['fulfilled', 'fulfilled']);
    expect((await pool.query('select 1 from events')).rows).toHaveLength(3);
  });
});
