import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { factsSql, type Rule } from './rule.ts';

/** Number of users that a rule would select now, and that it would select with other minimum numbers of events. */
export type RuleEstimate = { users: number; byTimes: readonly { times: number; users: number }[] };

const times = [1, 2, 3, 5, 10] as const;

/** Maximum duration of an estimate, in milliseconds. */
const timeoutMs = 5000;

/** SQLSTATE code of a statement that reached its timeout. */
const queryCanceled = '57014';

/**
 * Counts the users that a rule would select.
 * @returns null if there are too many events to count them in time
 */
export async function estimateRule(
  pool: pg.Pool,
  publisherId: number,
  rule: Rule,
  nowMs: number,
): Promise<RuleEstimate | null> {
  try {
    return await transaction(pool, async (executor) => {
      await executor.query(`set local statement_timeout = ${timeoutMs}`);
      return countUsers(executor, publisherId, rule, nowMs);
    });
  } catch (err) {
    if ((err as { code?: unknown }).code === queryCanceled) return null;
    throw err;
  }
}

async function countUsers(executor: Executor, publisherId: number, rule: Rule, nowMs: number): Promise<RuleEstimate> {
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const facts = factsSql(rule, publisherId, nowMs, parameter, () => 'true');
  const counts = [rule.times ?? 1, ...times].map(
    (least, at) => `count(*) filter (where facts >= ${least})::float8 as "n${at}"`,
  );
  const { rows } = await executor.query<Record<string, number>>(
    `select ${counts.join(', ')} from (
      select user_key, count(*) as facts from (${facts}) f group by user_key
    ) by_user`,
    values,
  );
  const usersAt = (at: number): number => rows[0]?.[`n${at}`] ?? 0;
  return { users: usersAt(0), byTimes: times.map((least, at) => ({ times: least, users: usersAt(at + 1) })) };
}
