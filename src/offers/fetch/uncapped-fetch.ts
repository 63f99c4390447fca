import { noHistory, type OptOuts, type Totals } from '../../decision/types.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import type { StateWriter } from '../decision-log/state-writer.ts';
import type { ModelSource } from '../model/source.ts';
import type { OfferDeps } from '../ports.ts';
import type { Renderer } from '../render/render.ts';
import { decideSession } from './decide-session.ts';
import type { LateAnswers } from './late-answers.ts';
import type { PendingFetch } from './pending-fetch.ts';
import { type DecidedFetch, type FetchResult, type RenderedFetch, renderSessions } from './render-sessions.ts';
import { insertSessions, insertUnlessOptedOut, sessionRow } from './sessions.ts';

/** Decides and commits fetches. `drain` resolves when none is under way. */
export type FetchPath = { add: (pending: PendingFetch) => Promise<FetchResult>; drain: () => Promise<void> };

export type FetchPathDeps = Pick<OfferDeps, 'pool' | 'dbHealth' | 'now'> & {
  model: ModelSource;
  states: StateWriter;
  renderer: Renderer;
  late: LateAnswers;
};

/** Sessions of one transaction (count). */
export const maxSessions = 128;

/** A decision with the row that is written of it. */
type Draft = DecidedFetch & { row: string };

const noTotals: Totals = new Map();

/**
 * Fetches to which no cap applies. Each is decided as soon as its request is read, as if the user had opted out of
 * nothing: nearly all have not, and the statement that inserts the sessions finds those who have. They are decided
 * once more, with their opt-outs.
 */
export function createUncappedFetch({ pool, dbHealth, now, model, states, renderer, late }: FetchPathDeps): FetchPath {
  const assumed = createBatcher<Draft, FetchResult>({ write: writeAssumed, dbHealth, maxItems: maxSessions });
  const informed = createBatcher<Draft, FetchResult>({ write: writeInformed, dbHealth, maxItems: maxSessions });

  function draft(pending: PendingFetch, optOuts?: OptOuts): Draft {
    const history = optOuts === undefined ? noHistory : { optOuts, exposures: [] };
    const current = model.current();
    const session = decideSession(pending, { history, totals: noTotals, model: current }, now());
    states.note(pending.snapshot, current);
    return { pending, session, row: sessionRow(session) };
  }

  /** A fetch that has expired since its decision shows nothing. */
  const unlessExpired = (one: Draft): Draft => (one.pending.expired ? draft(one.pending) : one);

  /** Renders while the commit is under way. */
  async function writeAssumed(given: readonly Draft[]): Promise<RenderedFetch[]> {
    const drafts = given.map(unlessExpired);
    const rows = drafts.map(({ row }) => row);
    const inserting = insertUnlessOptedOut(
      pool,
      rows,
      drafts.flatMap(({ pending }) => pending.userKey ?? []),
    );
    inserting.catch(() => {}); // awaited below; a failure during rendering must not count as unhandled
    const rendered = await renderSessions(renderer, drafts);
    const optOuts = await inserting;
    late.emptyExpired(drafts);
    if (optOuts.size === 0) return rendered;
    return rendered.map((result, index) => {
      const { pending } = drafts[index] as Draft;
      const found = optOuts.get(pending.userKey ?? '');
      return found === undefined ? result : informed.add(draft(pending, found));
    });
  }

  async function writeInformed(given: readonly Draft[]): Promise<RenderedFetch[]> {
    const drafts = given.map(unlessExpired);
    await insertSessions(
      pool,
      drafts.map(({ row }) => row),
    );
    const rendered = await renderSessions(renderer, drafts);
    late.emptyExpired(drafts);
    return rendered;
  }

  return {
    add: (pending) => assumed.add(draft(pending)),
    drain: async () => {
      await assumed.drain();
      await informed.drain();
    },
  };
}
