import { noHistory, noTotals, type OptOuts, planFetch } from '../../budgets/caps.ts';
import type { Deciding, Draft, FetchCommits, RefusedFetch, StoredUsage } from '../../budgets/fetches.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { type FetchResult, type RenderedFetch, type Renderer, renderSessions } from '../render/render.ts';
import { type DecisionSources, decideFetch, type FetchDecision } from './decide-session.ts';
import { forgetShown, type PendingFetch, type UserProfile } from './pending-fetch.ts';
import { createFindProfile, profilesOfBatch } from './profiles.ts';

/**
 * Removes the offers from committed sessions if an empty response was sent at their fetch's deadline. The caller does
 * not wait for the removal. Responses that are still in time are sent in the same event loop turn, before another
 * deadline can pass.
 */
export type EmptyExpired = (committed: readonly FetchDecision[]) => void;

type CommitterDeps = DecisionSources & {
  dbHealth: DatabaseHealth;
  now: () => number;
  batchMeters: BatchMeters;
  renderer: Renderer;
  late: { emptyExpired: EmptyExpired };
  budgets: FetchCommits;
};

/** Decides, commits and renders fetches. */
export type FetchCommitter = {
  /**
   * Decides, commits and renders a fetch.
   * @param profile user profile, or null if it was not read before
   */
  add: (fetch: PendingFetch, profile: UserProfile | null) => Promise<FetchResult>;
  /** Resolves when no fetch is in progress. */
  drain: () => Promise<void>;
};

/** Maximum number of sessions per transaction. */
const maxSessions = 128;

const nothingUsed: StoredUsage = { history: noHistory, totals: noTotals };
const noProfiles: ReadonlyMap<PendingFetch, UserProfile> = new Map();

/** Fetch that could not be committed as decided, with the user profile that was used for the decision. */
type RefusedDecision = RefusedFetch<PendingFetch> & { profile: UserProfile | null };

/**
 * Creates a committer. One statement writes the sessions of a batch and checks that the data used for their decisions
 * has not changed since. Refused fetches are decided again, usually with locks. The plan of each fetch (`planFetch`)
 * determines how it is decided:
 * - Without a history: from memory, as soon as its request is read.
 * - With a history but without totals: with the stored history, which is not locked.
 * - With a history and totals: with locks.
 */
export function createCommitter(deps: CommitterDeps): FetchCommitter {
  const { budgets, dbHealth, now, batchMeters, renderer, late } = deps;

  function queueOf<Item>(
    name: string,
    write: (items: readonly Item[]) => Promise<RenderedFetch[]>,
    traceOf: (item: Item) => Trace | null,
  ): Batcher<Item, FetchResult> {
    return createBatcher<Item, FetchResult>({
      write,
      dbHealth,
      maxItems: maxSessions,
      meter: batchMeters(name),
      traceOf,
    });
  }
  const decided = queueOf<Draft<FetchDecision>>('fetches', writeDecided, ({ decision }) => decision.fetch.trace);
  const withHistory = queueOf<PendingFetch>('user_capped_fetches', writeWithHistory, ({ trace }) => trace);
  const optedOut = queueOf<RefusedDecision>('opted_out_fetches', writeAgain, () => null); // traced as `decided`
  const locked = queueOf<RefusedDecision>('capped_fetches', writeAgain, ({ fetch }) => fetch.trace);

  const decideWithoutProfile = (fetch: PendingFetch, usage: StoredUsage, nowMs: number): FetchDecision =>
    decideFetch(deps, fetch, null, usage, nowMs);

  /** Returns the functions that decide a batch. User profiles are read together with the histories. */
  function decidingOf(
    fetches: readonly PendingFetch[],
    profiles: ReadonlyMap<PendingFetch, UserProfile | null>,
  ): Deciding<PendingFetch, FetchDecision> {
    const query = profilesOfBatch(fetches, now());
    let profileOf = (fetch: PendingFetch): UserProfile | null => profiles.get(fetch) ?? null;
    return {
      profiles: query,
      begin: (rows) => {
        forgetShown(fetches);
        if (rows !== null && query !== null) profileOf = createFindProfile(rows, query.nowMs);
      },
      decide: (fetch, usage, nowMs) => decideFetch(deps, fetch, profileOf(fetch), usage, nowMs),
    };
  }

  /** Replaces a decision with an empty one if its fetch has expired in the meantime. */
  function unlessExpired(draft: Draft<FetchDecision>): Draft<FetchDecision> {
    const { fetch, profile, evaluation } = draft.decision;
    if (!fetch.answer.expired) return draft;
    const { session, decided } = decideFetch(deps, fetch, profile, nothingUsed, now());
    return { decision: { fetch, profile, session, decided, evaluation }, reservations: [], history: null };
  }

  function writeDecided(drafts: readonly Draft<FetchDecision>[]): Promise<RenderedFetch[]> {
    return write(drafts.map(unlessExpired));
  }

  async function writeWithHistory(fetches: readonly PendingFetch[]): Promise<RenderedFetch[]> {
    const drafts = await budgets.decideWithHistories(fetches, decidingOf(fetches, noProfiles));
    const written = (await write(drafts.filter((draft) => draft !== null))).values();
    return drafts.map((draft, index) =>
      draft === null ? again(fetches[index] as PendingFetch, null, null) : (written.next().value as RenderedFetch),
    );
  }

  /** Writes decided fetches to the database, and renders their responses at the same time. */
  async function write(drafts: readonly Draft<FetchDecision>[]): Promise<RenderedFetch[]> {
    const decisions = drafts.map(({ decision }) => decision);
    const committing = budgets.commit(drafts);
    committing.catch(() => {}); // awaited below; a failure during rendering must not count as unhandled
    const rendered = renderSessions(renderer, decisions);
    const refusals = await committing;
    if (refusals === null) {
      late.emptyExpired(decisions);
      return rendered;
    }
    const isRefused = ({ fetch }: FetchDecision): boolean => refusals.has(fetch);
    late.emptyExpired(decisions.filter((decision) => !isRefused(decision)));
    forgetShown(decisions.filter(isRefused).map(({ fetch }) => fetch));
    return decisions.map((decision, index) =>
      isRefused(decision)
        ? again(decision.fetch, refusals.optOutsOf(decision.fetch), decision.profile)
        : (rendered[index] as RenderedFetch),
    );
  }

  /** Decides a fetch again. If its opt-outs are already known, no locks are needed. */
  const again = (fetch: PendingFetch, optOuts: OptOuts | null, profile: UserProfile | null): Promise<FetchResult> =>
    (optOuts === null ? locked : optedOut).add({ fetch, optOuts, profile });

  async function writeAgain(refused: readonly RefusedDecision[]): Promise<RenderedFetch[]> {
    const profiles = new Map(refused.map(({ fetch, profile }) => [fetch, profile]));
    const decisions = await budgets.commitAgain(refused, decidingOf([...profiles.keys()], profiles));
    const rendered = renderSessions(renderer, decisions);
    late.emptyExpired(decisions);
    return rendered;
  }

  return {
    add: (fetch, profile) => {
      const needs = planFetch(fetch);
      if (needs.history) return needs.totals ? again(fetch, null, profile) : withHistory.add(fetch);
      const draft = budgets.decideInMemory(
        fetch,
        profile === null
          ? decideWithoutProfile
          : (pending, usage, nowMs) => decideFetch(deps, pending, profile, usage, nowMs),
      );
      return draft === null ? again(fetch, null, profile) : decided.add(draft);
    },
    drain: async () => {
      for (const queue of [decided, withHistory, optedOut, locked]) await queue.drain();
    },
  };
}
