import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor } from '../platform/db/pool.ts';
import { pollMs } from './store.ts';

/** Notes that a publisher keeps attributes of its users. @returns whether that is new */
export async function keepAttributes(executor: Executor, publisherId: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    'update publishers set keeps_attributes = true where id = $1 and not keeps_attributes',
    [publisherId],
  );
  return rowCount === 1;
}

/** Resolves when every process has had the time to read a change: waited for once in the life of a publisher. */
export const readEverywhere = (): Promise<void> => sleep(2 * pollMs);
