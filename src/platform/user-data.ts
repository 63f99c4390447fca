import type pg from 'pg';
import { type Executor, readSlices } from './db/pool.ts';
import { dayOfUuid7 } from './lib/uuid7.ts';

/**
 * Many modules store personal data of users in their tables. Each of them exports functions of the types below for its
 * own tables. Erasures and exports use the functions of all modules (GDPR;
 * docs/reference/users-and-privacy.md#privacy).
 */

/** Kinds of identifiers that a publisher can use to identify a user. */
export const identifierKinds = ['pub_user_id', 'ad_fp', 'email', 'email_sha256'] as const;

export type IdentifierKind = (typeof identifierKinds)[number];

/** User whose data is to be erased or exported. */
export type UserSubject = {
  publisherId: number;
  namedBy: IdentifierKind;
  identifier: string;
  /** Keyed hash of the identifier. An e-mail address has a hash for each of its spellings. */
  userKey: string;
  /** The user key, followed during a rotation by the user's keys under other peppers. */
  userKeys: readonly string[];
};

export type UserSession = {
  /** UTC day of the session. */
  day: string;
  id: string;
  /** Keyed hash of `ad_fp` or, if it is missing, of `pub_user_id`. It is the key for caps and opt-outs. */
  userKey: string | null;
  pubUserId: string | null;
};

/** Erased session, with the keys of all rows that were written because of it. */
export type ErasedSession = {
  day: string;
  id: string;
  userKey: string | null;
  /** Keyed hashes of `pub_user_id`, which are the keys of the wallet, the current one first. */
  pubUserKeys: readonly string[];
};

/**
 * One of the two sweeps of an erasure. The second sweep removes rows that requests in flight wrote during the first
 * one.
 */
export type ErasureSweep = {
  subject: UserSubject;
  /** Time of the erasure request. Sessions that began later are not erased. */
  until: Date;
  isSecond: boolean;
  nowMs: number;
};

/** Number of rows that were deleted or cleared, by field name in the erasure response. */
export type ErasedCounts = {
  sessions: number;
  deliveries: number;
  wallet_items: number;
  coupons: number;
  histories: number;
  memberships: number;
};

/** Called after each step, so that the erasure lease is renewed. */
export type OnErased = (counts: Partial<ErasedCounts>) => Promise<void>;

/** Erases rows that belong to sessions, in the same transaction that clears the sessions. */
export type EraseWithSessions = (
  executor: Executor,
  sessions: readonly ErasedSession[],
  sweep: ErasureSweep,
) => Promise<Partial<ErasedCounts>>;

/** Erases rows that belong to sessions, in separate short transactions before the sessions are cleared. */
export type EraseBeforeSessions = (
  pool: pg.Pool,
  sessions: readonly ErasedSession[],
  sweep: ErasureSweep,
  onErased: OnErased,
) => Promise<void>;

/** Erases rows that refer to the user, regardless of their session, in separate transactions. */
export type EraseOfUser = (pool: pg.Pool, sweep: ErasureSweep, onErased: OnErased) => Promise<void>;

/** Scope of a personal data export. */
export type ExportScope = {
  subject: UserSubject;
  /** IDs of the user's sessions, earliest first. */
  sessionIds: readonly string[];
  /** User keys for caps and opt-outs (`userKeys`), and user keys for wallets (`pubUserKeys`). */
  userKeys: readonly string[];
  pubUserKeys: readonly string[];
};

/**
 * Yields all stored rows of one kind in batches, with times in ISO 8601 and amounts in millionths of their currency.
 * `executor` must be a transaction.
 */
export type ExportRows = (executor: Executor, scope: ExportScope) => AsyncIterable<Record<string, unknown>[]>;

/**
 * Maximum number of sessions per statement. A statement reads few partitions, because the sessions of one user fall on
 * only a few days.
 */
const sessionsAtOnce = 500;

/** Yields the UTC days and IDs of the sessions in batches. */
export function* sessionsOf({ sessionIds }: ExportScope): Generator<[days: string[], ids: string[]]> {
  for (let first = 0; first < sessionIds.length; first += sessionsAtOnce) {
    const ids = sessionIds.slice(first, first + sessionsAtOnce);
    yield [[...new Set(ids.map(dayOfUuid7))], ids];
  }
}

/**
 * Creates an export of rows that belong to the user's sessions. `text` is a statement that takes the days and IDs of
 * the sessions as parameters.
 */
export const exportBySessions = (text: string): ExportRows =>
  async function* (executor, scope) {
    for (const values of sessionsOf(scope)) yield* readSlices(executor, text, values);
  };

/**
 * Builds a statement that finds up to `limit` sessions of a user that began before a given time. Sessions that are
 * already erased are not found again.
 */
export type FindSessions = (subject: UserSubject, until: Date, limit?: number) => { text: string; values: unknown[] };

/** Contribution of a module to erasures and exports: the steps for its own tables. */
export type UserDataPart = {
  findSessions?: FindSessions;
  eraseBeforeSessions?: EraseBeforeSessions;
  /** Clears the sessions themselves. This step runs first in its transaction. */
  eraseSessions?: EraseWithSessions;
  eraseWithSessions?: EraseWithSessions;
  /** Steps that run after all sessions are cleared. */
  eraseOfUser?: readonly EraseOfUser[];
  /** Export functions by field name in the export response. */
  exports?: Readonly<Record<string, ExportRows>>;
};
