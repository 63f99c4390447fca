import { noHistory, type OptOuts, type Totals, totalsKey } from '../../decision/types.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import { activeCapsOf } from '../caps/active-caps.ts';
import type { LiveUsage } from '../caps/live-usage.ts';
import { type Reservation, reservationsOf } from '../caps/reservations.ts';
import type { Slices } from '../caps/slices.ts';
import { totalsAt } from '../caps/totals.ts';
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

export const noTotals: Totals = new Map();

/** A fetch with what its offers reserve of totals: granted of slices, for its first write only. */
type EarlyFetch = DecidedFetch & { reservations: readonly Reservation[] };

type EarlyFetchDeps = FetchPathDeps & {
  usage: Pick<LiveUsage, 'knownNow'>;
  slices: Pick<Slices, 'grant' | 'revoke' | 'drop' | 'without'>;
  /** Takes the fetches that cannot be decided early. */
  capped: Pick<FetchPath, 'add'>;
};

/**
 * Fetches to which no frequency cap applies. Each is decided as soon as its request is read, as if the user had opted
 * out of nothing: nearly all have not, and the statement that inserts the sessions finds those who have. They are
 * decided once more, with their opt-outs. Total caps and budgets are granted of slices that this process has leased;
 * where they do not suffice, the fetch is decided in the transaction that commits it.
 */
export function createEarlyFetch(deps: EarlyFetchDeps): FetchPath {
  const { pool, dbHealth, now, batchMeters, model, states, outcomes, renderer, late, slices, capped } = deps;
  const assumed = createBatcher<EarlyFetch, FetchResult>({
    write: writeAssumed,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('fetches'),
    traceOf: ({ pending }) => pending.trace,
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
  const unlessExpired = (one: EarlyFetch): EarlyFetch =>
    one.pending.expired ? { ...decideNow(one.pending), reservations: [] } : one;

  /** Renders during the commit. */
  async function writeAssumed(given: readonly EarlyFetch[]): Promise<RenderedFetch[]> {
    const decided = given.map(unlessExpired);
    const reservations = decided.flatMap((one) => one.reservations);
    const inserting = insertUnlessOptedOut(
      pool,
      decided.map(({ session }) => session),
      reservations,
    );
    inserting.catch(() => {}); // awaited below; a failure during rendering must not count as unhandled
    const rendered = await renderSessions(renderer, decided);
    const { written, optOuts } = await inserting;
    if (!written) {
      slices.drop(reservations.map(({ campaignId, publisherId }) => totalsKey(campaignId, publisherId)));
      return decided.map(({ pending }) => capped.add(pending));
    }
    late.emptyExpired(decided);
    if (optOuts.size === 0) return rendered;
    return rendered.map((result, index) => {
      const { pending } = decided[index] as DecidedFetch;
      const found = optOuts.get(pending.userKey ?? '');
      if (found === undefined) return result;
      return hasTotalCaps(pending) ? capped.add(pending) : informed.add(decideNow(pending, found));
    });
  }

  async function writeInformed(given: readonly DecidedFetch[]): Promise<RenderedFetch[]> {
    const decided = given.map((one) => (one.pending.expired ? decideNow(one.pending) : one));
    await insertSessions(
      pool,
      decided.map(({ session }) => session),
    );
    const rendered = await renderSessions(renderer, decided);
    late.emptyExpired(decided);
    return rendered;
  }

  return {
    add: (pending) => {
      if (!hasTotalCaps(pending)) return assumed.add({ ...decideNow(pending), reservations: [] });
      const decided = decideOfSlices(deps, pending);
      return decided === null ? capped.add(pending) : assumed.add(decided);
    },
    drain: async () => {
      await assumed.drain();
      await informed.drain();
    },
  };
}

/** Decides with total caps. null: the slices at hand do not suffice. */
function decideOfSlices(
  { now, model, states, outcomes, usage, slices }: EarlyFetchDeps,
  pending: PendingFetch,
): EarlyFetch | null {
  const activeCaps = activeCapsOf(pending.snapshot);
  const known = usage.knownNow(activeCaps);
  if (known === null) return null;
  const nowMs = now();
  const totals = totalsAt(slices.without(known), activeCaps, nowMs);
  const sources = { history: noHistory, totals, model: model.current() };
  const session = decideSession(pending, sources, nowMs);
  const { id: sessionId, publisherId } = session;
  const reservations = session.decided
    .flatMap((shown) => reservationsOf(activeCaps, shown, { sessionId, publisherId, nowMs }))
    .map(({ total, reservation }) => ({ ...reservation, sliceId: slices.grant(total, reservation) }));
  if (reservations.some(({ sliceId }) => sliceId === null)) {
    slices.revoke(reservations);
    return null;
  }
  sampleOutcome(outcomes, pending, sources, session);
  states.note(pending.snapshot, sources.model);
  return { pending, session, reservations };
}

/** Whether total caps apply. */
export const hasTotalCaps = ({ snapshot, publisher, dev }: PendingFetch): boolean =>
  !dev && activeCapsOf(snapshot).hasTotalCaps(publisher.id);
