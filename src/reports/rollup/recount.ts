import type { Executor } from '../../platform/db/pool.ts';
import { reconciledSql } from '../reconcile/reconcile.ts';
import { customAgainSql } from './custom-attributes.ts';
import { happenedSql, isFolded } from './events.ts';
import { foldLock } from './statement.ts';
import { placedSql, rollupsWrittenSql, sumsSql } from './sums.ts';

type Sign = '' | '-';

/**
 * SQL that adds `facts` to the sums once more, or takes them off.
 * @param expressions common table expressions that give `facts`, of what folds have counted
 */
export const countAgainSql = (expressions: string, sign: Sign): string => `
with ${expressions},
${placedSql},
${sumsSql},
${customAgainSql(sign)},
${rollupsWrittenSql(sign)}
select from facts limit 0`;

/** A fold that took its snapshot before, and does not know of what is changed under its lock, must begin anew. */
export const failOlderFolds = async (executor: Executor): Promise<void> => {
  await executor.query('update rollup_progress set folded_at = folded_at');
};

/**
 * Waits for a fold that is under way, and lets none in until the transaction ends, nor any with an older snapshot after
 * it.
 */
export async function holdFolds(executor: Executor): Promise<void> {
  await executor.query(`select pg_advisory_xact_lock(${foldLock})`);
  await failOlderFolds(executor);
}

/** $1: days, $2: sessions. */
const ofSessions = `t.day = any($1::date[]) and t.session_id = any($2::uuid[]) and ${isFolded}`;

const countSessionsSql = (sign: Sign): string =>
  countAgainSql(
    `
happened as materialized (${happenedSql(ofSessions, '(select min(day) from unnest($1::date[]) as day)')}),
facts as not materialized (select * from happened where counts),
${reconciledSql(sign)}`,
    sign,
  );

const takeOffSql = countSessionsSql('-');
const addSql = countSessionsSql('');

/**
 * Changes what sessions say, and what the sums say of them, as far as they were counted. Must run in a transaction of
 * its own, which
 * waits for a fold that is under way.
 */
export async function changeSessions(
  executor: Executor,
  days: readonly string[],
  sessionIds: readonly string[],
  change: () => Promise<unknown>,
): Promise<void> {
  await holdFolds(executor);
  await executor.query(takeOffSql, [days, sessionIds]);
  await change();
  await executor.query(addSql, [days, sessionIds]);
}
