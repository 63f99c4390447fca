import type { Transaction } from '../platform/db/pool.ts';
import type { TokenClaims } from '../platform/security/tracking-token.ts';
import type { EventKind, TrackedKind } from './event-kinds.ts';
import type { Snapshot } from './types.ts';

/** Reasons for an invalid click or another suspicious event, excluded from counts, caps and revenue. */
export const suspicions = ['bot', 'qr', 'no_impression', 'too_fast'] as const;

/** An event to store. */
export type StoredEvent<Kind extends EventKind> = {
  kind: Kind;
  claims: TokenClaims;
  /** Session of the token. A scanned QR code has no session and gets one of its own. */
  sessionId: string;
  /** Time of the event (epoch milliseconds). */
  atMs: number;
  /** Suspicion known before storing. The database detects `no_impression` and `too_fast`. */
  suspicious: Extract<(typeof suspicions)[number], 'bot' | 'qr'> | null;
  /** Revenue unless the event is suspicious, in millionths of the campaign's currency. */
  revenueMicros: number;
  /**
   * Currency of the campaign at the time of the event. Absent in messages of earlier releases, which had a single
   * currency.
   */
  currency?: string;
  /** Name of an own event. */
  name?: string;
};

/** An event recorded by a tracking token. */
export type TrackedEvent = StoredEvent<TrackedKind>;

/** An event of a perk: an offer was saved to the wallet, or selected in a wrapped session. */
export type PerkEvent = StoredEvent<'save' | 'selection'>;

/** Tracked event as the event log stores it. */
export type LoggedEvent = TrackedEvent & {
  /** Length of the opt-out of a "no thanks" (days), or null for no end. */
  optOutDays?: number | null;
};

/** Stores logged events in a transaction, with the same counts and checks as events without a log. */
export type StoreEvents = (executor: Transaction, snapshot: Snapshot, events: readonly LoggedEvent[]) => Promise<void>;

/** A log that takes events before PostgreSQL stores them. */
export type EventLog = {
  partitions: number;
  /** Partition for the events of a session. */
  partitionOf: (sessionId: string) => number;
  /** Whether the log accepts events. */
  isUp: () => boolean;
  /** Appends events to one partition. Rejects on timeout; the log may or may not have the events. */
  append: (partition: number, events: readonly LoggedEvent[], limitMs: number) => Promise<void>;
};
