import { noHistory, type OptOuts, type Totals } from '../../decision/types.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import type { StateWriter } from '../decision-log/state-writer.ts';
import type { ModelSource } from '../model/source.ts';
import type { OfferDeps } from '../ports.ts';
import type { Renderer } from '../render/render.ts';
import { decideSession, sampleOutcome } from './decide-session.ts';
import type { LateAnswers } from './late-answers.ts';
import type { PendingFetch } from './pending-fetch.ts';
import { type DecidedFetch, type FetchResult, type RenderedFetch, renderSessions } from './render-sessions.ts';
import { insertSessions, insertUnlessOptedOut } from './sessions.ts';

/** Decides and commits fetches. `drain` resolves when none is in progress. */
export type FetchPath = { add: (pending: PendingFetch) => Promise<FetchResult>; drain: () => Promise<void> };

export type FetchPathDeps = Pick<OfferDeps, 'pool' | 'dbHealth' | 'now' | 'batchMeters'> & {
  model: ModelSource;
  states: StateWriter;
  outcomes: OfferDeps['outcomes'];
  renderer: Renderer;
  late: LateAnswers;
};

/** Sessions of one transaction (count). */
export const maxSessions = 128;

const noTotals: Totals = new Map();

/**
 * Fetches to which no cap applies. Each is decided as soon as its request is read, as if the user had opted out of
 * nothing: nearly all have not, and the statement that inserts the sessions finds those who have. They are decided
 * once more, with their opt-outs.
 */
export function createUncappedFetch(deps: FetchPathDeps): FetchPath {
  const { pool, dbHealth, now, batchMeters, model, states, outcomes, renderer, late } = deps;
  const assumed = createBatcher<DecidedFetch, FetchResult>({
    write: writeAssumed,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('fetches'),
  });
  const informed = createBatcher<DecidedFetch, FetchResult>({
    write: writeInformed,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('opted_out_fetches'),
  });

  function decideNow(pending: PendingFetch, optOuts?: OptOuts): DecidedFetch {
    const history = optOuts === undefined ? noHistory : { optOuts, exposures: [] };
    const current = model.current();
    const sources = { history, totals: noTotals, model: current };
    const session = decideSession(pending, sources, now());
    sampleOutcome(outcomes, pending, sources, session);
    states.note(pending.snapshot, current);
    return { pending, session };
  }

  /** A fetch that has expired since its decision shows nothing. */
  const unlessExpired = (one: DecidedFetch): DecidedFetch => (one.pending.expired ? decideNow(one.pending) : one);

  /** Renders during the commit. */
  async function writeAssumed(given: readonly DecidedFetch[]): Promise<RenderedFetch[]> {
    const decided = given.map(unlessExpired);
    const inserting = insertUnlessOptedOut(
      pool,
      decided.map(({ session }) => session),
    );
    inserting.catch(() => {}); // awaited below; a failure during rendering must not count as unhandled
    const rendered = await renderSessions(renderer, decided);
    const optOuts = await inserting;
    late.emptyExpired(decided);
    if (optOuts.size === 0) return rendered;
    return rendered.map((result, index) => {
      const { pending } = decided[index] as DecidedFetch;
      const found = optOuts.get(pending.userKey ?? '');
      return found === undefined ? result : informed.add(decideNow(pending, found));
    });
  }

  async function writeInformed(given: readonly DecidedFetch[]): Promise<RenderedFetch[]> {
    const decided = given.map(unlessExpired);
    await insertSessions(
      pool,
      decided.map(({ session }) => session),
    );
    const rendered = await renderSessions(renderer, decided);
    late.emptyExpired(decided);
    return rendered;
  }

  return {
    add: (pending) => assumed.add(decideNow(pending)),
    drain: async () => {
      await assumed.drain();
      await informed.drain();
    },
  };
}
