import type { Executor } from '../platform/db/pool.ts';
import { createFirstOperatorLink, linkPath } from './sign-in/one-time-links.ts';
import { hasOperator } from './users.ts';

/** URL of a one-time link that creates the first operator; null: there is an operator. */
export async function firstOperatorLink(executor: Executor, publicUrl: string, nowMs: number): Promise<string | null> {
  if (await hasOperator(executor)) return null;
  return `${publicUrl}${linkPath}${await createFirstOperatorLink(executor, nowMs)}`;
}
