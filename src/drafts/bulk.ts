import type { Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import type { ReviewedKinds } from './apply.ts';
import { approve, refuse } from './decide.ts';

/** Maximum number of drafts that can be approved or rejected per call. */
export const maxDecided = 100;

export type Decided = { id: number; state: string | null; error: { code: string; message: string } | null };

type Decision = { action: 'approve' | 'refuse'; reason?: unknown; liveAt?: unknown };

/** Approves or rejects several drafts, one at a time in ID order. */
export async function decideAll(
  kinds: ReviewedKinds,
  work: Work,
  ids: readonly number[],
  { action, reason, liveAt }: Decision,
): Promise<Decided[]> {
  const decided: Decided[] = [];
  for (const id of [...new Set(ids)].sort((a, b) => a - b)) {
    await work.executor.query('savepoint decision');
    try {
      const decide =
        action === 'approve' ? approve(kinds, work, String(id), { reason, liveAt }) : refuse(work, String(id), reason);
      decided.push({ id, state: (await decide).state, error: null });
    } catch (err) {
      if (!(err instanceof AppError) || err.status >= 500) throw err;
      await work.executor.query('rollback to savepoint decision');
      decided.push({ id, state: null, error: { code: err.code, message: err.message } });
    }
  }
  return decided;
}
