import type { Offer } from '../catalog/types.ts';
import type { LimitedFetch, OptOuts, Totals, UserHistory } from './caps.ts';
import type { OpenHistory, ProfileQuery, ProfileRow } from './history/history.ts';
import type { Reservation } from './reservations/reservations.ts';
import type { SessionRow } from './sessions.ts';

/** Data of budgets that a decision is made with. */
export type StoredUsage = { history: UserHistory; totals: Totals };

/** A decided fetch, with what its offers reserve of budgets. */
export type LimitedDecision = {
  session: SessionRow;
  decided: readonly { offer: Offer; reserveMicros: number; reserveChance: number }[];
};

type Decide<Fetch, Decision> = (fetch: Fetch, usage: StoredUsage, nowMs: number) => Decision;

/** A decision that is not committed yet, with its reservations. */
export type Draft<Decision> = {
  decision: Decision;
  /** Reservations of totals, from slices of this process. */
  reservations: readonly Reservation[];
  /** History that the decision was made with, including its reservations; null if it was not read. */
  history: OpenHistory | null;
};

/** Fetches of a batch that were not committed, because data had changed since their decisions. */
export type Refusals = {
  has: (fetch: LimitedFetch) => boolean;
  /** Opt-outs of the user, if the fetch needs nothing else to be decided again; null: it must be decided with locks. */
  optOutsOf: (fetch: LimitedFetch) => OptOuts | null;
};

/** A fetch to be decided again. `optOuts`: opt-outs of a user without caps; null: the fetch is decided with locks. */
export type RefusedFetch<Fetch> = { fetch: Fetch; optOuts: OptOuts | null };

/** How the fetches of a batch are decided. */
export type Deciding<Fetch, Decision> = {
  profiles: ProfileQuery | null;
  /** Called before the first decision of each attempt, with the rows of the profiles; null if none were read. */
  begin: (profiles: readonly ProfileRow[] | null) => void;
  decide: Decide<Fetch, Decision>;
};

/** Commits of fetches. Each method reads, decides or writes so that no cap is exceeded by concurrent processes. */
export type FetchCommits = {
  /**
   * Decides a fetch that needs no history with data in memory: as if the user had opted out of nothing, which is nearly
   * always true, and with totals granted from slices. Returns null if the slices are not sufficient.
   */
  decideInMemory: <Fetch extends LimitedFetch, Decision extends LimitedDecision>(
    fetch: Fetch,
    decide: Decide<Fetch, Decision>,
  ) => Draft<Decision> | null;
  /** Reads histories without locks and decides. Null for fetches that must be decided with locks. */
  decideWithHistories: <Fetch extends LimitedFetch, Decision extends LimitedDecision>(
    fetches: readonly Fetch[],
    deciding: Deciding<Fetch, Decision>,
  ) => Promise<(Draft<Decision> | null)[]>;
  /** Writes decided fetches in one statement that checks the data of their decisions. Null: all are written. */
  commit: (drafts: readonly Draft<LimitedDecision>[]) => Promise<Refusals | null>;
  /**
   * Decides and commits refused fetches. Without known opt-outs this is one transaction that locks the histories and
   * totals.
   */
  commitAgain: <Fetch extends LimitedFetch, Decision extends LimitedDecision>(
    fetches: readonly RefusedFetch<Fetch>[],
    deciding: Deciding<Fetch, Decision>,
  ) => Promise<Decision[]>;
};
