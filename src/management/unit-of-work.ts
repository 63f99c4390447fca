import type pg from 'pg';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { createFailFast } from '../platform/db/health.ts';
import { type Executor, readTransaction, transaction } from '../platform/db/pool.ts';
import type { Permission } from '../platform/http/auth.ts';
import type { KeyRestrictions } from '../platform/http/key-restrictions.ts';
import type { MessageKey } from '../platform/i18n/messages.ts';
import type { Logger } from '../platform/logger.ts';
import { hasRole, type MemberRole, type Role } from '../shell/context.ts';

/** A permission, as registered by the module that requires it. */
export type PermissionEntry = {
  name: Permission;
  /** Minimum role of users who hold it and may create keys with it. */
  role: Role;
  /** Description of the permission for keys. */
  text: MessageKey;
};

/** Permission that makes a key or user an operator, who sees all publishers. */
export const operatorPermission: Permission = 'accounts';

/** Permissions of a role. */
export const permissionsOf = (role: MemberRole, permissions: readonly PermissionEntry[]): ReadonlySet<Permission> => {
  const isHeld = (entry: PermissionEntry): boolean =>
    typeof role === 'string' ? hasRole(role, entry.role) : role.permissions.includes(entry.name);
  return new Set(permissions.filter(isHeld).map(({ name }) => name));
};

/** Author of a change: an API key, a signed-in user, or a command of the installation's operator. */
export type Actor = {
  kind: 'key' | 'user' | 'system';
  id: number;
  /** Name of the key, or e-mail address of the user; stored in the audit log. */
  label: string;
  /** Permissions that it has and can grant. `accounts` makes it an operator. */
  permissions: ReadonlySet<Permission>;
  /** Expiry of a key and of every key it creates (epoch milliseconds); null for no expiry. */
  expiresAtMs: number | null;
  /** Calls per second of a key, which keys that it creates or changes cannot exceed; null for no limit. */
  ratePerS: number | null;
  /** Restrictions of a key and of every key it creates; null for none. */
  restrictions: KeyRestrictions | null;
  /** Publisher it belongs to; null for an operator without a publisher. */
  publisherId: number | null;
};

/** A unit of work on the configuration of one publisher. For writes, the executor is a transaction. */
export type Work = {
  executor: Executor;
  actor: Actor;
  publisherId: number;
  nowMs: number;
  /** Set to save an approved change without further approval. */
  approved?: true;
  /** Receives the ids of the audit log entries that the work writes. */
  entries?: string[];
};

/** Whether the actor is an operator, who sees all publishers. */
export const isOperator = (actor: Actor): boolean => actor.permissions.has(operatorPermission);

/**
 * Number of offers from which on writes do not wait for a refresh. With 10,000 offers, a refresh takes most of a
 * second.
 */
const largeCatalogue = 2000;

/** Runs units of work on the database, for routes, pages and commands. */
export type Management = {
  /** Runs a read, which sees committed data. */
  read: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /** Runs a read with several statements that see the same committed state. */
  readMoment: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /**
   * Runs a write in one transaction; after a deadlock, `work` runs again. When it resolves, this process serves the new
   * configuration, unless the catalogue is so large that reading it takes longer than a caller should wait. Other
   * processes follow within a second.
   */
  write: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
};

/** Maximum number of tries of a write that ends in deadlocks. */
const maxTries = 4;

/** Repeats a write after a deadlock. If writers lock rows in different orders, PostgreSQL aborts one of them. */
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
  /** Configuration that this process serves. */
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
      // The change is already committed, so a failed refresh must not fail the request.
      const refreshed = catalog
        .refresh()
        .catch((err: unknown) => logger.warn({ err }, 'catalogue refresh failed after a change'));
      if (catalog.current().offers.size <= largeCatalogue) await refreshed;
      return result;
    },
  };
}
