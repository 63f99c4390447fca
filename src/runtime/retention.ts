import { hourly, type Job } from '../platform/jobs.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import { partitionLock } from '../platform/room.ts';
import type { Room } from './room.ts';

type RetentionDeps = Pick<PlatformDeps, 'pool' | 'config' | 'logger' | 'now'>;

/**
 * Drops old rows: each room deletes what it keeps no longer, the last one first, for later rooms find their rows by
 * those of earlier ones. Any number of processes may do it.
 */
export async function applyRetention(
  rooms: readonly Pick<Room, 'name' | 'retention'>[],
  { pool, config, logger, now }: RetentionDeps,
): Promise<void> {
  for (const { name, retention } of rooms.toReversed()) {
    if (retention === undefined) continue;
    const deleted = await retention(pool, config, now());
    logger.debug({ room: name, deleted }, 'retention applied');
    if (deleted.discarded)
      logger.warn({ count: deleted.discarded }, 'queued deliveries were discarded at the end of their retention');
  }
}

export const retentionJob = (rooms: readonly Room[], deps: RetentionDeps): Job => ({
  name: 'retention',
  ...hourly,
  locks: `${partitionLock}; partitioned tables, for which it waits 2 s at most`,
  run: () => applyRetention(rooms, deps),
});
