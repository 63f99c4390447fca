import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor } from '../platform/db/pool.ts';
import { pollMs } from './store.ts';

/**
 * Marks that a publisher stores user attributes.
 * @returns whether it was not marked before
 */
export async function keepAttributes(executor: Executor, publisherId: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    'update publishers set keeps_attributes = true where id = $1 and not keeps_attributes',
    [publisherId],
  );
  return rowCount === 1;
}

/** Resolves when every process has read a change. This wait occurs once for a publisher. */
export const readEverywhere = (): Promise<void> => sleep(2 * pollMs);
