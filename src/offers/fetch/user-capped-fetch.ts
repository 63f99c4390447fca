import { createBatcher } from '../../platform/db/batcher.ts';
import { historyOf, type OpenHistory, readHistories } from '../caps/history.ts';
import { activeCapsOfBatch, type CappedBatchDeps, reserveImpressions } from './capped-batch.ts';
import { decideSession, sampleOutcome } from './decide-session.ts';
import { type FetchPath, type FetchPathDeps, maxSessions, noTotals } from './early-fetch.ts';
import type { PendingFetch } from './pending-fetch.ts';
import { type DecidedFetch, type FetchResult, type RenderedFetch, renderSessions } from './render-sessions.ts';
import { insertUnlessChanged } from './sessions.ts';

type UserCappedFetchDeps = FetchPathDeps &
  Pick<CappedBatchDeps, 'eventsStoredUntil'> & {
    /** Takes the fetches that must be decided with a locked history. */
    capped: Pick<FetchPath, 'add'>;
  };

/**
 * Fetches to which caps of users apply, but no totals: decided with the histories as they are, without a lock, and
 * committed by one statement, which writes the sessions of those users whose history is still the same. The others are
 * decided once more, in a transaction that locks it.
 */
export function createUserCappedFetch(deps: UserCappedFetchDeps): FetchPath {
  const { pool, dbHealth, now, batchMeters, model, states, outcomes, renderer, late, eventsStoredUntil, capped } = deps;
  const batcher = createBatcher<PendingFetch, FetchResult>({
    write,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('user_capped_fetches'),
    traceOf: ({ trace }) => trace,
  });

  async function write(batch: readonly PendingFetch[]): Promise<RenderedFetch[]> {
    const users = new Map(batch.map((pending) => [keyOf(pending), pending.publisher.id]));
    const histories = await readHistories(pool, users, eventsStoredUntil());
    const locked = new Set([...histories.values()].filter(({ isBloated }) => isBloated).map(({ userKey }) => userKey));
    const unlocked = batch.filter((pending) => !locked.has(keyOf(pending)));
    const activeCaps = activeCapsOfBatch(batch);
    const nowMs = now();
    const decided = unlocked.map((pending): DecidedFetch => {
      const history = histories.get(keyOf(pending)) as OpenHistory;
      const sources = { history: historyOf(history), totals: noTotals, model: model.current() };
      states.note(pending.snapshot, sources.model);
      const session = decideSession(pending, sources, nowMs);
      sampleOutcome(outcomes, pending, sources, session);
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

/** Caps of users apply to users only. */
const keyOf = ({ userKey }: PendingFetch): string => userKey as string;
