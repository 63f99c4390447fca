import { noTotals } from '../../budgets/caps.ts';
import { historyOf, type OpenHistory, readHistories } from '../../budgets/history.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import { type DecidedFetch, type FetchResult, type RenderedFetch, renderSessions } from '../render/render.ts';
import { insertUnlessChanged } from '../sessions.ts';
import { decideSession } from './decide-session.ts';
import {
  activeCapsOfBatch,
  type FetchPath,
  type FetchPathDeps,
  maxSessions,
  reserveImpressions,
} from './fetch-path.ts';
import type { PendingFetch } from './pending-fetch.ts';
import { profilesBeside } from './profiles.ts';

type UserCappedFetchDeps = FetchPathDeps & {
  eventsStoredUntil: () => number;
  /** Path for fetches that must be decided with a locked history. */
  capped: FetchPath;
};

/**
 * Fetch path for fetches with frequency caps but without totals. They are decided with the current histories, without a
 * lock, and committed by one statement that checks the histories that get a reservation. If one was written meanwhile,
 * the fetch is decided again in a transaction that locks it.
 */
export function createUserCappedFetch(deps: UserCappedFetchDeps): FetchPath {
  const { pool, dbHealth, now, batchMeters, renderer, late, eventsStoredUntil, capped } = deps;
  const batcher = createBatcher<PendingFetch, FetchResult>({
    write,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('user_capped_fetches'),
    traceOf: ({ trace }) => trace,
  });

  async function write(batch: readonly PendingFetch[]): Promise<RenderedFetch[]> {
    const users = new Map(batch.map((pending) => [keyOf(pending), pending.publisher.id]));
    const histories = await readHistories(pool, users, eventsStoredUntil(), profilesBeside(batch, now()));
    const locked = new Set([...histories.values()].filter(({ isBloated }) => isBloated).map(({ userKey }) => userKey));
    const unlocked = batch.filter((pending) => !locked.has(keyOf(pending)));
    const activeCaps = activeCapsOfBatch(batch);
    const nowMs = now();
    const decided = unlocked.map((pending): DecidedFetch => {
      const history = histories.get(keyOf(pending)) as OpenHistory;
      const session = decideSession(deps, pending, { history: historyOf(history), totals: noTotals }, nowMs);
      reserveImpressions(session, history, activeCaps);
      return { pending, session };
    });
    const inserting = insertUnlessChanged(
      pool,
      decided.map(({ session }) => session),
      [...histories.values()].filter(({ added }) => added.length > 0),
      nowMs,
    );
    inserting.catch(() => {}); // awaited below; a failure during rendering must not count as unhandled
    const rendered = await renderSessions(renderer, decided);
    for (const userKey of await inserting) locked.add(userKey);
    const committed = decided.filter(({ pending }) => !locked.has(keyOf(pending)));
    late.emptyExpired(committed);
    const results = new Map(decided.map(({ pending }, index) => [pending, rendered[index] as RenderedFetch]));
    return batch.map((pending) =>
      locked.has(keyOf(pending)) ? capped.add(pending) : (results.get(pending) as RenderedFetch),
    );
  }

  return { add: batcher.add, drain: batcher.drain };
}

/** Frequency caps apply only to fetches with a user. */
const keyOf = ({ userKey }: PendingFetch): string => userKey as string;
