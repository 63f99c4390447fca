import { createBatcher } from '../../platform/db/batcher.ts';
import { type DecidedFetch, type FetchResult, type RenderedFetch, renderSessions } from '../render/render.ts';
import type { SessionRecord } from '../session-record.ts';
import { CapOverrun, type CappedBatchDeps, commitCapped } from './capped-batch.ts';
import { type FetchPath, type FetchPathDeps, maxSessions } from './fetch-path.ts';
import type { PendingFetch } from './pending-fetch.ts';

/** Number of attempts after which a batch is decided without the totals that other processes used up. */
const maxAttempts = 3;

type CappedFetchDeps = FetchPathDeps & CappedBatchDeps;

/**
 * Fetch path for fetches with frequency caps, or with totals without a slice. They are decided in the transaction that
 * commits them.
 */
export function createCappedFetch(deps: CappedFetchDeps): FetchPath {
  const { dbHealth, batchMeters, renderer, late } = deps;
  const batcher = createBatcher<PendingFetch, FetchResult>({
    write,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('capped_fetches'),
    traceOf: ({ trace }) => trace,
  });

  async function write(batch: readonly PendingFetch[]): Promise<RenderedFetch[]> {
    const sessions = await decideCapped(deps, batch);
    const decided: DecidedFetch[] = batch.map((pending, index) => ({
      pending,
      session: sessions[index] as SessionRecord,
    }));
    const rendered = await renderSessions(renderer, decided);
    late.emptyExpired(decided);
    return rendered;
  }

  return { add: batcher.add, drain: batcher.drain };
}

/**
 * Decides and commits a batch so that no cap is exceeded by concurrent processes. If they used up a total meanwhile,
 * everything is rolled back and decided again with the current usage.
 */
export async function decideCapped(deps: CappedBatchDeps, batch: readonly PendingFetch[]): Promise<SessionRecord[]> {
  const { usage } = deps;
  let exhausted: ReadonlySet<string> = new Set();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { sessions, used } = await commitCapped(deps, batch, exhausted);
      usage.learn(used);
      return sessions;
    } catch (err) {
      if (!(err instanceof CapOverrun)) throw err;
      usage.learn(err.used);
      if (attempt >= maxAttempts) exhausted = new Set([...exhausted, ...err.totals]);
    }
  }
}
