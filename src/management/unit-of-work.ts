import type pg from 'pg';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { createFailFast } from '../platform/db/health.ts';
import { type Executor, readTransaction, transaction } from '../platform/db/pool.ts';
import type { Permission } from '../platform/http/auth.ts';
import type { KeyRestrictions } from '../platform/http/key-restrictions.ts';
import type { MessageKey } from '../platform/i18n/messages.ts';
import type { Logger } from '../platform/logger.ts';
import { hasRole, type MemberRole, type Role } from '../shell/context.ts';

/** A permission as the module that requires it hands it in. */
export type PermissionEntry = {
  name: Permission;
  /** Users of this role and above hold it, and may create keys with it. */
  role: Role;
  /** What a key may do with it. */
  text: MessageKey;
};

/** Makes a key or user an operator, who sees all publishers. */
export const operatorPermission: Permission = 'accounts';

/** What users of a role hold. */
export const permissionsOf = (role: MemberRole, permissions: readonly PermissionEntry[]): ReadonlySet<Permission> => {
  const isHeld = (entry: PermissionEntry): boolean =>
    typeof role === 'string' ? hasRole(role, entry.role) : role.permissions.includes(entry.name);
  return new Set(permissions.filter(isHeld).map(({ name }) => name));
};

/** The author of a change: an API key, a signed-in user, or a command of the installation's operator. */
export type Actor = {
  kind: 'key' | 'user' | 'system';
  id: number;
  /** Name of the key, e-mail address of the user; kept in the audit log. */
  label: string;
  /** What it may do and grant. `accounts` makes an operator. */
  permissions: ReadonlySet<Permission>;
  /** When a key ends (epoch milliseconds), and with it every key it makes; null: never. */
  expiresAtMs: number | null;
  /** Calls a second of a key, which no key that it makes or changes may exceed; null: no limit. */
  ratePerS: number | null;
  /** What narrows a key, and every key that it makes; null: nothing. */
  restrictions: KeyRestrictions | null;
  /** The publisher it belongs to; null: an operator who belongs to none. */
  publisherId: number | null;
};

/** A unit of work on the configuration of one publisher. For writes the executor is a transaction. */
export type Work = {
  executor: Executor;
  actor: Actor;
  publisherId: number;
  nowMs: number;
  /** Saves what was approved: no further approval is asked for. */
  approved?: true;
  /** Gets the ids of the entries that the work writes to the audit log. */
  entries?: string[];
};

/** Operators see all publishers. */
export const isOperator = (actor: Actor): boolean => actor.permissions.has(operatorPermission);

/** With 10,000 offers a refresh takes most of a second: too long for a request to wait (count of offers). */
const largeCatalogue = 2000;

/** Runs units of work on the database, for routes, pages and commands alike. */
export type Management = {
  /** Reads; the work sees what is committed. */
  read: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /** Reads, with several statements, what was committed at one moment. */
  readMoment: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /**
   * Writes in one transaction; after a deadlock `work` runs again. When it resolves, this process serves the new
   * configuration, unless the catalogue is so large that reading it takes longer than a caller should wait; others
   * follow within a second.
   */
  write: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
};

/** Tries of a write that ends in deadlocks (count). */
const maxTries = 4;

/** Of writes that lock rows in different orders PostgreSQL ends one, which is done again. */
async function againAfterDeadlocks<T>(commit: () => Promise<T>, tries = maxTries): Promise<T> {
  try {
    return await commit();
  } catch (err) {
    if ((err as { code?: string }).code !== '40P01' || tries === 1) throw err;
    return againAfterDeadlocks(commit, tries - 1);
  }
}

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
      const commit = () =>
        failFast(() => transaction(pool, (executor) => work({ executor, actor, publisherId, nowMs: now() })));
      const result = await againAfterDeadlocks(commit);
      // The change is committed: a failed refresh of this process does not fail the request.
      const refreshed = catalog
        .refresh()
        .catch((err: unknown) => logger.warn({ err }, 'catalogue refresh failed after a change'));
      if (catalog.current().offers.size <= largeCatalogue) await refreshed;
      return result;
    },
  };
}
