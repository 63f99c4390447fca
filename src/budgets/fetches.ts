import type { Offer } from '../catalog/types.ts';
import type { LimitedFetch, OptOuts, Totals, UserHistory } from './caps.ts';
import type { OpenHistory, ProfileQuery, ProfileRow } from './history/history.ts';
import type { Reservation } from './reservations/reservations.ts';
import type { SessionRow } from './sessions.ts';

/** Budget data that a decision is based on. */
export type StoredUsage = { history: UserHistory; totals: Totals };

/** Decided fetch, with the amounts to reserve for its offers. */
export type LimitedDecision = {
  session: SessionRow;
  decided: readonly { offer: Offer; reserveMicros: number; reserveChance: number }[];
};

type Decide<Fetch, Decision> = (fetch: Fetch, usage: StoredUsage, nowMs: number) => Decision;

/** Uncommitted decision with its reservations. */
export type Draft<Decision> = {
  decision: Decision;
  /** Campaign total reservations, granted from slices that this process has leased. */
  reservations: readonly Reservation[];
  /** History that the decision was based on, including its reservations. Null if no history was read. */
  history: OpenHistory | null;
};

/** Fetches in a batch that were not committed because the data they are based on has changed since the decision. */
export type Refusals = {
  has: (fetch: LimitedFetch) => boolean;
  /**
   * Returns the user's opt-outs if nothing else is needed to decide the fetch again. Null means that it must be decided
   * with locks.
   */
  optOutsOf: (fetch: LimitedFetch) => OptOuts | null;
};

/**
 * Fetch to decide again. `optOuts` are the opt-outs of a user without frequency caps. Null means that the fetch is
 * decided with locks.
 */
export type RefusedFetch<Fetch> = { fetch: Fetch; optOuts: OptOuts | null };

/** Callbacks and profiles for deciding the fetches in a batch. */
export type Deciding<Fetch, Decision> = {
  profiles: ProfileQuery | null;
  /** Called before the first decision of each attempt, with the profile rows, or null if no profiles were read. */
  begin: (profiles: readonly ProfileRow[] | null) => void;
  decide: Decide<Fetch, Decision>;
};

/** Decides and commits fetches. Each method ensures that concurrent processes do not exceed a cap. */
export type FetchCommits = {
  /**
   * Decides a fetch that needs no history, using only data in memory. It assumes that the user has no opt-outs, which
   * is nearly always true. Campaign totals are reserved from leased slices. Returns null if the slices are not
   * sufficient.
   */
  decideInMemory: <Fetch extends LimitedFetch, Decision extends LimitedDecision>(
    fetch: Fetch,
    decide: Decide<Fetch, Decision>,
  ) => Draft<Decision> | null;
  /**
   * Reads histories without locks and decides the fetches. A result is null if the fetch must be decided with locks.
   */
  decideWithHistories: <Fetch extends LimitedFetch, Decision extends LimitedDecision>(
    fetches: readonly Fetch[],
    deciding: Deciding<Fetch, Decision>,
  ) => Promise<(Draft<Decision> | null)[]>;
  /**
   * Inserts decided fetches in one statement, which checks that the data they are based on is unchanged. Returns null
   * if all were inserted.
   */
  commit: (drafts: readonly Draft<LimitedDecision>[]) => Promise<Refusals | null>;
  /**
   * Decides and commits refused fetches. Unless the opt-outs of all fetches are known, one transaction locks the
   * histories and campaign totals.
   */
  commitAgain: <Fetch extends LimitedFetch, Decision extends LimitedDecision>(
    fetches: readonly RefusedFetch<Fetch>[],
    deciding: Deciding<Fetch, Decision>,
  ) => Promise<Decision[]>;
};
