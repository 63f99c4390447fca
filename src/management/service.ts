import type pg from 'pg';
import { createFailFast } from '../platform/db/fail-fast.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { readTransaction, transaction } from '../platform/db/pool.ts';
import type { Logger } from '../platform/logger.ts';
import type { Actor, Work } from './unit-of-work.ts';

/** With 10,000 offers a refresh takes most of a second: too long for a request to wait (count of offers). */
const largeCatalogue = 2000;

/** Runs units of work on the database, for routes, pages and commands alike. */
export type Management = {
  /** Reads; the work sees what is committed. */
  read: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /** Reads, with several statements, what was committed at one moment. */
  readMoment: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /**
   * Writes in one transaction. When it resolves, this process serves the new configuration, unless the catalogue is so
   * large that reading it takes longer than a caller should wait; others follow within a second.
   */
  write: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
};

type ManagementDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  /** The configuration that this process serves. */
  catalog: { refresh: () => Promise<unknown>; current: () => { offers: ReadonlyMap<number, unknown> } };
  logger: Logger;
  now: () => number;
};

export function createManagement({ pool, dbHealth, catalog, logger, now }: ManagementDeps): Management {
  const failFast = createFailFast(dbHealth);
  return {
    read: (actor, publisherId, work) => failFast(() => work({ executor: pool, actor, publisherId, nowMs: now() })),
    readMoment: (actor, publisherId, work) =>
      failFast(() => readTransaction(pool, (executor) => work({ executor, actor, publisherId, nowMs: now() }))),
    write: async (actor, publisherId, work) => {
      const result = await failFast(() =>
        transaction(pool, (executor) => work({ executor, actor, publisherId, nowMs: now() })),
      );
      // The change is committed: a failed refresh of this process does not fail the request.
      const refreshed = catalog
        .refresh()
        .catch((err: unknown) => logger.warn({ err }, 'catalogue refresh failed after a change'));
      if (catalog.current().offers.size <= largeCatalogue) await refreshed;
      return result;
    },
  };
}
