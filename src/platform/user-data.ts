import type pg from 'pg';
import { type Executor, readSlices } from './db/pool.ts';
import { dayOfUuid7 } from './lib/uuid7.ts';

/**
 * Personal data of a user is stored in tables of many modules. Each module exports functions of these types for its own
 * tables. The erasure and the export take the list of all (GDPR; docs/reference/users-and-privacy.md#privacy).
 */

/** Kinds of identifiers by which a publisher names a user. */
export const identifierKinds = ['pub_user_id', 'ad_fp', 'email', 'email_sha256'] as const;

export type IdentifierKind = (typeof identifierKinds)[number];

/** User whose data is erased or exported. */
export type UserSubject = {
  publisherId: number;
  namedBy: IdentifierKind;
  identifier: string;
  /** Keyed hash of the identifier. An e-mail address has one for each of its spellings. */
  userKey: string;
  /** The user key, and the keys under other peppers of a rotation. */
  userKeys: readonly string[];
};

/** A session of the user. */
export type UserSession = {
  /** UTC day of the session. */
  day: string;
  id: string;
  /** Keyed hash of `ad_fp`, else of `pub_user_id`: the key of caps and opt-outs. */
  userKey: string | null;
  pubUserId: string | null;
};

/** An erased session, with the keys of the rows that were written because of it. */
export type ErasedSession = {
  day: string;
  id: string;
  userKey: string | null;
  /** Keyed hashes of `pub_user_id`, the current one first: the keys of the wallet. */
  pubUserKeys: readonly string[];
};

/**
 * One of the two sweeps of an erasure. The second one removes rows that requests in flight wrote during the first one.
 */
export type ErasureSweep = {
  subject: UserSubject;
  /** Rows of sessions that began later are kept. */
  until: Date;
  isSecond: boolean;
  nowMs: number;
};

/** Numbers of rows that were removed or emptied, with the field names of the erasure's response. */
export type ErasedCounts = {
  sessions: number;
  deliveries: number;
  wallet_items: number;
  coupons: number;
  histories: number;
  memberships: number;
};

/** Called after each piece of work to renew the erasure's lease. */
export type OnErased = (counts: Partial<ErasedCounts>) => Promise<void>;

/** Erases rows that belong to sessions, in the transaction that empties the sessions. */
export type EraseWithSessions = (
  executor: Executor,
  sessions: readonly ErasedSession[],
  sweep: ErasureSweep,
) => Promise<Partial<ErasedCounts>>;

/** Erases rows that belong to sessions in short transactions of its own, before the sessions are emptied. */
export type EraseBeforeSessions = (
  pool: pg.Pool,
  sessions: readonly ErasedSession[],
  sweep: ErasureSweep,
  onErased: OnErased,
) => Promise<void>;

/** Erases rows that name the user, whatever session they belong to, in transactions of its own. */
export type EraseOfUser = (pool: pg.Pool, sweep: ErasureSweep, onErased: OnErased) => Promise<void>;

/** Scope of an export. */
export type ExportScope = {
  subject: UserSubject;
  /** Ids of the user's sessions, earliest first. */
  sessionIds: readonly string[];
  /** Keys of caps and opt-outs, and keys of wallets. */
  userKeys: readonly string[];
  pubUserKeys: readonly string[];
};

/**
 * Yields all stored rows of one kind in slices, with times in ISO 8601 and amounts in millionths of their currency.
 * `executor` must be a transaction.
 */
export type ExportRows = (executor: Executor, scope: ExportScope) => AsyncIterable<Record<string, unknown>[]>;

/** Number of sessions in one statement: those of a user on few days. */
const sessionsAtOnce = 500;

/** Yields UTC days and ids of the sessions in chunks. */
export function* sessionsOf({ sessionIds }: ExportScope): Generator<[days: string[], ids: string[]]> {
  for (let first = 0; first < sessionIds.length; first += sessionsAtOnce) {
    const ids = sessionIds.slice(first, first + sessionsAtOnce);
    yield [[...new Set(ids.map(dayOfUuid7))], ids];
  }
}

/** Exports rows of the user's sessions. `text` is a statement with the sessions' days and ids as parameters. */
export const exportBySessions = (text: string): ExportRows =>
  async function* (executor, scope) {
    for (const values of sessionsOf(scope)) yield* readSlices(executor, text, values);
  };

/**
 * Statement that finds sessions of a user that began before a time, up to `limit`. Erased sessions are not found again.
 */
export type FindSessions = (subject: UserSubject, until: Date, limit?: number) => { text: string; values: unknown[] };

/** A module's part in erasures and exports: steps for its own tables. */
export type UserDataPart = {
  findSessions?: FindSessions;
  eraseBeforeSessions?: EraseBeforeSessions;
  /** Empties the sessions themselves; runs first in its transaction. */
  eraseSessions?: EraseWithSessions;
  eraseWithSessions?: EraseWithSessions;
  /** Steps that run after all sessions are emptied. */
  eraseOfUser?: readonly EraseOfUser[];
  /** Exports by field of the export's response. */
  exports?: Readonly<Record<string, ExportRows>>;
};
