import type { Executor } from '../platform/db/pool.ts';
import type { Permission } from '../platform/http/auth.ts';
import { operatorPermission } from './permissions.ts';

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
  /** The publisher it belongs to; null: an operator who belongs to none. */
  publisherId: number | null;
};

/** A unit of work on the configuration of one publisher. For writes the executor is a transaction. */
export type Work = {
  executor: Executor;
  actor: Actor;
  publisherId: number;
  nowMs: number;
};

/** Operators see all publishers. */
export const isOperator = (actor: Actor): boolean => actor.permissions.has(operatorPermission);
