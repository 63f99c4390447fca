import type { Transaction } from '../platform/db/pool.ts';
import type { TokenClaims } from '../platform/security/tracking-token.ts';
import type { EventKind, TrackedKind } from './event-kinds.ts';
import type { Snapshot } from './types.ts';

/** What makes an invalid click or another suspicious event, excluded from counts, caps and revenue. */
export const suspicions = ['bot', 'qr', 'no_impression', 'too_fast'] as const;

/** One event to store. */
export type StoredEvent<Kind extends EventKind> = {
  kind: Kind;
  claims: TokenClaims;
  /** That of the token; a scanned QR code, which has none, gets one of its own. */
  sessionId: string;
  /** Epoch milliseconds. */
  atMs: number;
  /** The database itself finds `no_impression` and `too_fast`. */
  suspicious: Extract<(typeof suspicions)[number], 'bot' | 'qr'> | null;
  /** Revenue unless it is suspicious, in millionths of the campaign's currency. */
  revenueMicros: number;
  /** That of the campaign when it happened; absent in messages of earlier releases, which had no revenue in others. */
  currency?: string;
  /** Of an own event. */
  name?: string;
};

/** An event that a tracking token records. */
export type TrackedEvent = StoredEvent<TrackedKind>;

/** An event of a perk: an offer saved to the wallet, or selected when its session was wrapped. */
export type PerkEvent = StoredEvent<'save' | 'selection'>;

/** Tracked event in the form that an event log stores. */
export type LoggedEvent = TrackedEvent & {
  /** Length of the opt-out of a "no thanks", in days, or null for no end. */
  optOutDays?: number | null;
};

/** Stores logged events in a transaction, with the same counts and checks as events without a log. */
export type StoreEvents = (executor: Transaction, snapshot: Snapshot, events: readonly LoggedEvent[]) => Promise<void>;

/** A log that takes events before PostgreSQL stores them. */
export type EventLog = {
  partitions: number;
  /** Partition of the events of a session. */
  partitionOf: (sessionId: string) => number;
  /** Whether the log takes events. */
  isUp: () => boolean;
  /** Appends events of one partition. Rejects on timeout: the log may or may not have the events. */
  append: (partition: number, events: readonly LoggedEvent[], limitMs: number) => Promise<void>;
};
