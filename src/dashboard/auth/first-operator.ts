import type { Executor } from '../../platform/db/pool.ts';
import { createFirstOperatorLink, linkPath } from './links.ts';
import { hasOperator } from './users.ts';

/**
 * For the embedded demo: a one-time link to the dashboard, as long as nobody can sign in as operator. null: somebody
 * can.
 */
export async function firstOperatorLink(executor: Executor, publicUrl: string, nowMs: number): Promise<string | null> {
  if (await hasOperator(executor)) return null;
  return `${publicUrl}${linkPath}${await createFirstOperatorLink(executor, nowMs)}`;
}
