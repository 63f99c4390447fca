import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { firstUuid7At, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { factsSql, isFolded } from './events.ts';
import { countAgainSql, failOlderFolds } from './recount.ts';
import { foldLock } from './statement.ts';

/*
 * When a publisher's time zone changes, its sums are of the hours and days of the old one. They move, session by
 * session from the
 * newest back: what a session counted is taken off the old hours and days and added to the new ones, in one
 * transaction, so that all
 * sums add up at every moment. What no raw rows are kept of stays where it is.
 */

/** What a step did: `found` whether there was anything to move. */
export type Step = { found: boolean };

/** $1: publisher; $2, $3: the first session of the step; $4, $5: the one after its last. */
const ofStep = `t.publisher_id = $1 and t.day between $2::date and $4::date and (t.day, t.session_id) >= ($2::date, $3::uuid)
  and (t.day, t.session_id) < ($4::date, $5::uuid) and ${isFolded}`;

/** By `placed`, in the zone of the side of the cursor on which the sessions are. */
const factsOfStep = `facts as materialized (${factsSql(ofStep, '$2::date')})`;

const takeOffSql = countAgainSql(factsOfStep, '-');
const addSql = countAgainSql(factsOfStep, '');

type Moving = { publisher_id: number; next_zone: string; moved_session: string | null; oldest: string | null };

const findSql = `
select kept.publisher_id, coalesce(kept.next_zone, publishers.time_zone) as next_zone, kept.moved_session, (select min(day) from sessions)::text as oldest
from rollup_publishers kept join publishers on publishers.id = kept.publisher_id
where kept.next_zone is not null or kept.time_zone <> publishers.time_zone
order by kept.publisher_id limit 1`;

/**
 * Moves the sums of some publisher's sessions whose time zone has changed.
 * @param spanMs how much time, of sessions, to move at most (milliseconds)
 */
export async function moveZone(pool: pg.Pool, nowMs: number, spanMs: number): Promise<Step> {
  const { rows } = await pool.query<Moving>({ name: 'find_moving_zone', text: findSql });
  const [found] = rows;
  if (found === undefined) return { found: false };
  await pool.query('select create_report_partitions($1::date - 2, $1::date)', [stepOf(found, nowMs, spanMs).fromDay]);
  return transaction(pool, async (executor) => {
    // Whoever writes the publisher's sums anew holds this, too; it goes before the lock of folds everywhere.
    const { rowCount: held } = await executor.query(
      'select from rollup_publishers where publisher_id = $1 for update skip locked',
      [found.publisher_id],
    );
    if (held === 0) return { found: false };
    const { rows: locks } = await executor.query<{ ok: boolean }>(
      `select pg_try_advisory_xact_lock(${foldLock}) as ok`,
    );
    if (!locks[0]?.ok) return { found: false };
    // Another process may have gone on meanwhile.
    const [moving] = (await executor.query<Moving>(findSql)).rows;
    if (moving?.publisher_id !== found.publisher_id || moving.moved_session !== found.moved_session)
      return { found: true };
    await move(executor, moving, stepOf(moving, nowMs, spanMs));
    return { found: true };
  });
}

type Cursor = { fromDay: string; fromSession: string; toDay: string; toSession: string };

const afterAll = { toDay: 'infinity', toSession: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/** From the end of the last step back. The first begins with what has not happened yet. */
function stepOf({ moved_session }: Moving, nowMs: number, spanMs: number): Cursor {
  const endMs = moved_session === null ? nowMs + dayMs : timeOfUuid7(moved_session);
  const startMs = endMs - spanMs;
  const from = { fromDay: dayOf(startMs), fromSession: firstUuid7At(startMs) };
  return moved_session === null ? { ...from, ...afterAll } : { ...from, toDay: dayOf(endMs), toSession: moved_session };
}

async function move(executor: Executor, { publisher_id, next_zone, oldest }: Moving, step: Cursor): Promise<void> {
  await executor.query("set local enable_seqscan = off; set local work_mem = '64MB'; set local jit = off");
  const values = [publisher_id, step.fromDay, step.fromSession, step.toDay, step.toSession];
  await executor.query(takeOffSql, values);
  await executor.query(
    'update rollup_publishers set next_zone = $2, moved_day = $3, moved_session = $4 where publisher_id = $1',
    [publisher_id, next_zone, step.fromDay, step.fromSession],
  );
  await executor.query(addSql, values);
  await failOlderFolds(executor);
  if (oldest !== null && step.fromDay >= oldest) return;
  await executor.query(
    `update rollup_publishers set time_zone = next_zone, next_zone = null, moved_day = null, moved_session = null,
      tidied_upto = least(tidied_upto, coalesce($2::date, tidied_upto) - 2)
    where publisher_id = $1`,
    [publisher_id, oldest],
  );
}
