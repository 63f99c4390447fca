import type { Executor } from '../platform/db/pool.ts';
import { allEventsSql, isRolledUp } from './rollup/events.ts';
import { blockRollups } from './rollup/lock.ts';
import { recountSql } from './rollup/statement.ts';

/** $1: days, $2: sessions. */
const eventsOfSessionsSql = allEventsSql({
  condition: `t.day = any($1::date[]) and t.session_id = any($2::uuid[]) and ${isRolledUp}`,
  fromDay: '(select min(day) from unnest($1::date[]) as day)',
});

const subtractSql = recountSql(eventsOfSessionsSql, '-', { reconciles: true });
const addSql = recountSql(eventsOfSessionsSql, '', { reconciles: true });

/**
 * Changes sessions and their part of the sums, as far as they were counted. Must run in a transaction of its own, which
 * waits for a rollup in progress.
 * @param change updates the rows of the sessions
 */
export async function changeSessions(
  executor: Executor,
  days: readonly string[],
  sessionIds: readonly string[],
  change: () => Promise<unknown>,
): Promise<void> {
  await blockRollups(executor);
  await executor.query(subtractSql, [days, sessionIds]);
  await change();
  await executor.query(addSql, [days, sessionIds]);
}
