import type pg from 'pg';
import { type Executor, readSlices } from './db/pool.ts';
import { dayOfUuid7 } from './lib/uuid7.ts';

/*
 * Personal data of a user lie in tables of many modules. Each exports functions of these shapes for its own tables;
 * the list of all of them is handed to the erasure and the export (GDPR; docs/reference/users-and-privacy.md#privacy).
 */

/** Identifiers by which a publisher names a user. */
export const identifierKinds = ['pub_user_id', 'ad_fp', 'email', 'email_sha256'] as const;

export type IdentifierKind = (typeof identifierKinds)[number];

/** The user whose data are erased or exported. */
export type UserSubject = {
  publisherId: number;
  namedBy: IdentifierKind;
  identifier: string;
  /** Keyed hash of the identifier. An e-mail address has one for each of its spellings. */
  userKey: string;
  /** The same, and those under other peppers of a rotation. */
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

/** A session that is erased, with the keys of the rows that were written because of it. */
export type ErasedSession = {
  day: string;
  id: string;
  userKey: string | null;
  /** Keyed hashes of `pub_user_id`, the present one first: the keys of the wallet. */
  pubUserKeys: readonly string[];
};

/** One of the two sweeps of an erasure. The second removes what requests in flight had written during the first. */
export type ErasureSweep = {
  subject: UserSubject;
  /** Rows of sessions that began later stay. */
  until: Date;
  isSecond: boolean;
  nowMs: number;
};

/** Rows that were removed or emptied (counts), under the names in the erasure's answer. */
export type ErasedCounts = {
  sessions: number;
  deliveries: number;
  wallet_items: number;
  coupons: number;
  histories: number;
  memberships: number;
};

/** Called after each piece of work, which renews the erasure's lease. */
export type OnErased = (counts: Partial<ErasedCounts>) => Promise<void>;

/** Erases rows that belong to sessions, within the transaction that empties the sessions. */
export type EraseWithSessions = (
  executor: Executor,
  sessions: readonly ErasedSession[],
  sweep: ErasureSweep,
) => Promise<Partial<ErasedCounts>>;

/** Erases rows that belong to sessions, in short transactions of its own, before the sessions are emptied. */
export type EraseBeforeSessions = (
  pool: pg.Pool,
  sessions: readonly ErasedSession[],
  sweep: ErasureSweep,
  onErased: OnErased,
) => Promise<void>;

/** Erases rows that name the user, whatever session they belong to, in transactions of its own. */
export type EraseOfUser = (pool: pg.Pool, sweep: ErasureSweep, onErased: OnErased) => Promise<void>;

/** What an export reads. */
export type ExportScope = {
  subject: UserSubject;
  /** Ids of the user's sessions, the earliest first. */
  sessionIds: readonly string[];
  /** Keys of caps and opt-outs, and keys of wallets. */
  userKeys: readonly string[];
  pubUserKeys: readonly string[];
};

/**
 * All rows of one kind as they are kept, slice by slice; times in ISO 8601, amounts in millionths of their currency.
 * `executor`: of a transaction.
 */
export type ExportRows = (executor: Executor, scope: ExportScope) => AsyncIterable<Record<string, unknown>[]>;

/** Sessions that one statement names (count): those of a user on few days. */
const sessionsAtOnce = 500;

/** UTC days and ids of some sessions, until all were given. */
export function* sessionsOf({ sessionIds }: ExportScope): Generator<[days: string[], ids: string[]]> {
  for (let first = 0; first < sessionIds.length; first += sessionsAtOnce) {
    const ids = sessionIds.slice(first, first + sessionsAtOnce);
    yield [[...new Set(ids.map(dayOfUuid7))], ids];
  }
}

/** Rows of the user's sessions. `text`: takes days of sessions, and their ids. */
export const exportBySessions = (text: string): ExportRows =>
  async function* (executor, scope) {
    for (const values of sessionsOf(scope)) yield* readSlices(executor, text, values);
  };

/**
 * The statement that finds sessions of a user that began until a time, at most `limit`, else all; sessions that were
 * erased are not found again.
 */
export type FindSessions = (subject: UserSubject, until: Date, limit?: number) => { text: string; values: unknown[] };

/** A module's part in erasures and exports: steps for its own tables. */
export type UserDataPart = {
  findSessions?: FindSessions;
  eraseBeforeSessions?: EraseBeforeSessions;
  /** Empties the sessions themselves; runs first in its transaction. */
  eraseSessions?: EraseWithSessions;
  eraseWithSessions?: EraseWithSessions;
  /** Run after all sessions are emptied. */
  eraseOfUser?: readonly EraseOfUser[];
  /** By the field of the export's answer. */
  exports?: Readonly<Record<string, ExportRows>>;
};
