import type pg from 'pg';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { createFailFast } from '../platform/db/health.ts';
import { type Executor, readTransaction, transaction } from '../platform/db/pool.ts';
import type { Permission } from '../platform/http/auth.ts';
import type { KeyRestrictions } from '../platform/http/key-restrictions.ts';
import type { MessageKey } from '../platform/i18n/messages.ts';
import type { Logger } from '../platform/logger.ts';
import { hasRole, type MemberRole, type Role } from '../shell/context.ts';

/** Permission registered by the module that requires it. */
export type PermissionEntry = {
  name: Permission;
  /** Lowest role that has the permission and can create API keys with it. */
  role: Role;
  /** Describes what the permission allows an API key to do. */
  text: MessageKey;
};

/** Permission that makes an API key or a user an operator. Operators see all publishers. */
export const operatorPermission: Permission = 'accounts';

/** Returns the permissions of a role. */
export const permissionsOf = (role: MemberRole, permissions: readonly PermissionEntry[]): ReadonlySet<Permission> => {
  const isHeld = (entry: PermissionEntry): boolean =>
    typeof role === 'string' ? hasRole(role, entry.role) : role.permissions.includes(entry.name);
  return new Set(permissions.filter(isHeld).map(({ name }) => name));
};

/** Author of a change: an API key, a signed-in user, or an operator's command. */
export type Actor = {
  kind: 'key' | 'user' | 'system';
  id: number;
  /** Name of the API key, or e-mail address of the user. Stored in the audit log. */
  label: string;
  /** Permissions that the actor has and can grant. With `accounts`, the actor is an operator. */
  permissions: ReadonlySet<Permission>;
  /** Expiry of the API key, in epoch milliseconds. Keys that it creates can't expire later. Null means no expiry. */
  expiresAtMs: number | null;
  /**
   * Rate limit of the API key, in calls per second. Keys that it creates or changes cannot have a higher limit. Null
   * means no limit.
   */
  ratePerS: number | null;
  /** Restrictions of the API key, which also apply to every key that it creates. Null means no restrictions. */
  restrictions: KeyRestrictions | null;
  /** Publisher that the actor belongs to, or null for an operator without a publisher. */
  publisherId: number | null;
};

/** Unit of work on a publisher's configuration. For writes, the executor is a transaction. */
export type Work = {
  executor: Executor;
  actor: Actor;
  publisherId: number;
  nowMs: number;
  /** Set if the change has already been approved and can be saved without another approval. */
  approved?: true;
  /** If set, collects the IDs of the audit log entries that the unit of work writes. */
  entries?: string[];
};

/** Whether the actor is an operator, who sees all publishers. */
export const isOperator = (actor: Actor): boolean => actor.permissions.has(operatorPermission);

/**
 * Number of offers above which writes no longer wait for the catalogue to be refreshed. With 10,000 offers, a refresh
 * takes most of a second.
 */
const largeCatalogue = 2000;

/** Runs units of work on the database for API routes, dashboard pages and commands. */
export type Management = {
  /** Runs a read-only unit of work on committed data. */
  read: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /** Runs a unit of work whose statements all read the same snapshot of committed data. */
  readMoment: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
  /**
   * Runs a write in one transaction. After a deadlock, `work` is run again. When the promise resolves, this process
   * serves the new configuration, unless the catalogue is too large to wait for a refresh. Other processes follow
   * within a second.
   */
  write: <T>(actor: Actor, publisherId: number, work: (work: Work) => Promise<T>) => Promise<T>;
};

/** Maximum number of attempts for a write that fails with a deadlock. */
const maxTries = 4;

/** Retries a write after a deadlock. If two writers lock rows in different orders, PostgreSQL aborts one of them. */
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
  /** Configuration snapshot that this process serves. */
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
