import type pg from 'pg';
import type { FailFast } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { maxPlacements } from '../names.ts';
import type { Publisher } from '../types.ts';

const overflowPlacement = 'other';

export type Placements = {
  /** Returns the placement name under which a request is counted. Creates the placement if it is unknown. */
  resolve: (publisher: Publisher, name: string) => string | Promise<string>;
};

/**
 * Names of placements that the publisher's next transaction will create. `done` resolves to the names that exist
 * afterwards.
 */
type Batch = { names: Set<string>; done: Promise<ReadonlySet<string>> };

/**
 * Creates placements when a request first uses them. Each publisher has only one transaction at a time, which enforces
 * the maximum number of placements. Names that arrive in the meantime share the next transaction: with one transaction
 * per name, hundreds of new names would use up the connection pool.
 */
export function createPlacements(pool: pg.Pool, failFast: FailFast): Placements {
  /** Placements that are not in the snapshot yet but have been created or are being created. */
  const created = new WeakMap<Publisher, Map<string, Promise<string>>>();
  /** By publisher: the batch that is waiting to start, and the batch that was started last. */
  const [waiting, running] = [new Map<number, Batch>(), new Map<number, Promise<unknown>>()];

  const create = (publisherId: number, names: readonly string[]): Promise<ReadonlySet<string>> =>
    transaction(pool, async (executor) => {
      await executor.query('select 1 from publishers where id = $1 for no key update', [publisherId]);
      const { rows } = await executor.query<{ name: string }>('select name from placements where publisher_id = $1', [
        publisherId,
      ]);
      const existing = new Set(rows.map(({ name }) => name));
      const fresh = names.filter((name) => !existing.has(name)).slice(0, Math.max(0, maxPlacements - existing.size));
      if (fresh.length > 0)
        await executor.query(
          'insert into placements (publisher_id, name, auto_created) select $1, unnest($2::text[]), true',
          [publisherId, fresh],
        );
      return new Set([...existing, ...fresh]);
    });

  function startBatch(publisherId: number): Batch {
    const names = new Set<string>();
    const before = running.get(publisherId) ?? Promise.resolve();
    const done = failFast(() =>
      before.then(() => {
        waiting.delete(publisherId);
        return create(publisherId, [...names]);
      }),
    );
    const settled = done.then(
      () => {},
      () => waiting.delete(publisherId),
    );
    running.set(publisherId, settled);
    void settled.then(() => running.get(publisherId) === settled && running.delete(publisherId));
    return { names, done };
  }

  async function join(publisherId: number, name: string): Promise<string> {
    const batch = getOrInsert(waiting, publisherId, () => startBatch(publisherId));
    batch.names.add(name);
    return (await batch.done).has(name) ? name : overflowPlacement;
  }

  return {
    resolve: (publisher, name) => {
      if (publisher.placements.has(name)) return name;
      if (publisher.placements.size >= maxPlacements) return overflowPlacement;
      const results = getOrInsert(created, publisher, () => new Map<string, Promise<string>>());
      return getOrInsert(results, name, () => {
        const resolved = join(publisher.id, name);
        resolved.catch(() => results.delete(name));
        return resolved;
      });
    },
  };
}
