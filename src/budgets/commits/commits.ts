import {
  activeCapsOf,
  activeCapsOfSnapshots,
  type LimitedFetch,
  noHistory,
  noTotals,
  planFetch,
  totalsKey,
} from '../caps.ts';
import type { FetchCommits, Refusals, StoredUsage } from '../fetches.ts';
import { historyOf, type OpenHistory, readHistories } from '../history/history.ts';
import { type Reservation, reservationsOf } from '../reservations/reservations.ts';
import { insertSessions, insertUnlessChanged, insertUnlessOptedOut } from '../sessions.ts';
import { totalsAt } from '../usage/totals.ts';
import { type CommitDeps, commitLocked, reserveImpressions } from './locked.ts';

const nothingUsed: StoredUsage = { history: noHistory, totals: noTotals };
const noReservations: readonly Reservation[] = [];

/** Creates the functions that decide and commit fetches within caps and budgets. */
export function createFetchCommits(deps: CommitDeps): FetchCommits {
  const { pool, usage, slices, eventsStoredUntil, now } = deps;
  return {
    decideInMemory: (fetch, decide) => {
      const nowMs = now();
      if (!planFetch(fetch).totals)
        return { decision: decide(fetch, nothingUsed, nowMs), reservations: noReservations, history: null };
      const activeCaps = activeCapsOf(fetch.snapshot);
      const storedUsage = usage.knownNow(activeCaps);
      if (storedUsage === null) return null;
      const totals = totalsAt(slices.without(storedUsage), activeCaps.total, nowMs, (total) =>
        usage.hasAmpleRoom(total, nowMs),
      );
      const decision = decide(fetch, { history: noHistory, totals }, nowMs);
      const reservations = reservationsOf(activeCaps, decision, slices.grant);
      if (reservations.some(({ slice }) => slice === null)) {
        slices.revoke(reservations);
        return null;
      }
      return { decision, reservations, history: null };
    },
    decideWithHistories: async (fetches, { profiles, begin, decide }) => {
      const users = new Map(fetches.map((fetch) => [keyOf(fetch), fetch.publisher.id]));
      const { histories, profileRows } = await readHistories(pool, users, eventsStoredUntil(), profiles);
      const activeCaps = activeCapsOfSnapshots(fetches.map(({ snapshot }) => snapshot));
      const nowMs = now();
      begin(profileRows);
      return fetches.map((fetch) => {
        const history = histories.get(keyOf(fetch)) as OpenHistory;
        if (history.isBloated) return null;
        const decision = decide(fetch, { history: historyOf(history), totals: noTotals }, nowMs);
        reserveImpressions(decision, history, activeCaps);
        return { decision, reservations: noReservations, history };
      });
    },
    commit: async (drafts) => {
      const [first] = drafts;
      if (first === undefined) return null;
      const sessions = drafts.map(({ decision }) => decision.session);
      if (first.history !== null) {
        const histories = new Set(drafts.flatMap(({ history }) => history ?? []));
        const reserving = [...histories].filter(({ added }) => added.length > 0);
        const changed = await insertUnlessChanged(pool, sessions, reserving, first.decision.session.createdAtMs);
        return changed.size === 0 ? null : { has: (fetch) => changed.has(keyOf(fetch)), optOutsOf: () => null };
      }
      const reservations = drafts.map((draft) => draft.reservations);
      const { written, optOuts } = await insertUnlessOptedOut(pool, sessions, reservations);
      if (!written) {
        slices.drop(reservations.flat().map(({ campaignId, publisherId }) => totalsKey(campaignId, publisherId)));
        return everything;
      }
      if (optOuts.size === 0) return null;
      return {
        has: ({ userKey }) => optOuts.has(userKey ?? ''),
        optOutsOf: (fetch) => (planFetch(fetch).totals ? null : (optOuts.get(keyOf(fetch)) ?? null)),
      };
    },
    commitAgain: async (fetches, deciding) => {
      if (fetches.some(({ optOuts }) => optOuts === null))
        return commitLocked(
          deps,
          fetches.map(({ fetch }) => fetch),
          deciding,
        );
      const nowMs = now();
      deciding.begin(null);
      const decisions = fetches.map(({ fetch, optOuts }) => {
        const history = { optOuts: optOuts ?? noHistory.optOuts, exposures: noHistory.exposures };
        return deciding.decide(fetch, { history, totals: noTotals }, nowMs);
      });
      await insertSessions(
        pool,
        decisions.map(({ session }) => session),
      );
      return decisions;
    },
  };
}

/** Returns the user key of a fetch that needs a history. Such a fetch always has a user key. */
const keyOf = ({ userKey }: LimitedFetch): string => userKey as string;

const everything: Refusals = { has: () => true, optOutsOf: () => null };
