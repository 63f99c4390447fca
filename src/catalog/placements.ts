import type pg from 'pg';
import type { FailFast } from '../platform/db/health.ts';
import { transaction } from '../platform/db/pool.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import type { Publisher } from './types.ts';

/** Most placements of a publisher; requests for further ones are counted as `other`. */
export const maxPlacements = 200;
const overflowPlacement = 'other';

export type Placements = {
  /** The name a placement is counted under. An unknown placement is created. */
  resolve: (publisher: Publisher, name: string) => string | Promise<string>;
};

export function createPlacements(pool: pg.Pool, failFast: FailFast): Placements {
  /** Results for placements that the snapshot lacks yet. */
  const created = new WeakMap<Publisher, Map<string, Promise<string>>>();

  async function create(publisherId: number, name: string): Promise<string> {
    return transaction(pool, async (executor) => {
      await executor.query('select 1 from publishers where id = $1 for update', [publisherId]);
      const { rows } = await executor.query<{ count: number; known: boolean }>(
        `select count(*)::int as count, coalesce(bool_or(name = $2), false) as known
        from placements where publisher_id = $1`,
        [publisherId, name],
      );
      if (rows[0]?.known) return name;
      if ((rows[0]?.count ?? 0) >= maxPlacements) return overflowPlacement;
      await executor.query('insert into placements (publisher_id, name, auto_created) values ($1, $2, true)', [
        publisherId,
        name,
      ]);
      return name;
    });
  }

  return {
    resolve: (publisher, name) => {
      if (publisher.placements.has(name)) return name;
      if (publisher.placements.size >= maxPlacements) return overflowPlacement;
      const known = getOrInsert(created, publisher, () => new Map<string, Promise<string>>());
      return getOrInsert(known, name, () => {
        const resolved = failFast(() => create(publisher.id, name));
        resolved.catch(() => known.delete(name));
        return resolved;
      });
    },
  };
}
