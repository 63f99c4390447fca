import { activeCapsOf, noHistory, noTotals, type OptOuts, totalsKey } from '../../budgets/caps.ts';
import type { LiveUsage } from '../../budgets/live-usage.ts';
import { type Reservation, reservationsOf } from '../../budgets/reservations.ts';
import type { SliceGrants } from '../../budgets/slice-holdings.ts';
import { totalsAt } from '../../budgets/totals.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import { type DecidedFetch, type FetchResult, type RenderedFetch, renderSessions } from '../render/render.ts';
import { insertSessions, insertUnlessOptedOut } from '../sessions.ts';
import { decideSession } from './decide-session.ts';
import { type FetchPath, type FetchPathDeps, maxSessions } from './fetch-path.ts';
import { forgetShown, hasTotalCaps, type PendingFetch } from './pending-fetch.ts';

/** A decided fetch with its reservations of totals, granted from slices. Empty if it was decided again. */
type EarlyFetch = DecidedFetch & { reservations: readonly Reservation[] };

type EarlyFetchDeps = FetchPathDeps & {
  usage: LiveUsage;
  slices: SliceGrants;
  /** Path for fetches that cannot be decided early. */
  capped: FetchPath;
};

/**
 * Fetch path for fetches without frequency caps. Each is decided as soon as its request is read, as if the user had
 * opted out of nothing. That is nearly always true, and the statement that inserts the sessions finds the exceptions,
 * which are decided again with their opt-outs. Total caps and budgets are granted from slices that this process has
 * leased. If they are not sufficient, the fetch is decided in the transaction that commits it.
 */
export function createEarlyFetch(deps: EarlyFetchDeps): FetchPath {
  const { pool, dbHealth, now, batchMeters, renderer, late, slices, capped } = deps;
  const withoutOptOuts = createBatcher<EarlyFetch, FetchResult>({
    write: writeWithoutOptOuts,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('fetches'),
    traceOf: ({ pending }) => pending.trace,
  });
  const withOptOuts = createBatcher<DecidedFetch, FetchResult>({
    write: writeWithOptOuts,
    dbHealth,
    maxItems: maxSessions,
    meter: batchMeters('opted_out_fetches'),
  });

  function decideNow(pending: PendingFetch, optOuts?: OptOuts): DecidedFetch {
    const history = optOuts === undefined ? noHistory : { optOuts, exposures: [] };
    return { pending, session: decideSession(deps, pending, { history, totals: noTotals }, now()) };
  }

  /** A fetch that has expired since its decision shows nothing. */
  const unlessExpired = (fetch: EarlyFetch): EarlyFetch =>
    fetch.pending.expired ? { reservations: [], ...decideNow(fetch.pending) } : fetch;

  /** Rendering runs concurrently with the commit. */
  async function writeWithoutOptOuts(fetches: readonly EarlyFetch[]): Promise<RenderedFetch[]> {
    const decided = fetches.map(unlessExpired);
    const reservations = decided.flatMap((fetch) => fetch.reservations);
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
    forgetShown(decided.map(({ pending }) => pending).filter(({ userKey }) => optOuts.has(userKey ?? '')));
    return rendered.map((result, index) => {
      const { pending } = decided[index] as DecidedFetch;
      const userOptOuts = optOuts.get(pending.userKey ?? '');
      if (userOptOuts === undefined) return result;
      return hasTotalCaps(pending) ? capped.add(pending) : withOptOuts.add(decideNow(pending, userOptOuts));
    });
  }

  async function writeWithOptOuts(fetches: readonly DecidedFetch[]): Promise<RenderedFetch[]> {
    const decided = fetches.map((fetch) => (fetch.pending.expired ? decideNow(fetch.pending) : fetch));
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
      if (!hasTotalCaps(pending)) return withoutOptOuts.add({ reservations: [], ...decideNow(pending) });
      const decided = decideFromSlices(deps, pending);
      return decided === null ? capped.add(pending) : withoutOptOuts.add(decided);
    },
    drain: async () => {
      await withoutOptOuts.drain();
      await withOptOuts.drain();
    },
  };
}

/** Decides with total caps. Returns null if the leased slices are not sufficient. */
function decideFromSlices(deps: EarlyFetchDeps, pending: PendingFetch): EarlyFetch | null {
  const { now, usage, slices } = deps;
  const activeCaps = activeCapsOf(pending.snapshot);
  const storedUsage = usage.knownNow(activeCaps);
  if (storedUsage === null) return null;
  const nowMs = now();
  const totals = totalsAt(slices.without(storedUsage), activeCaps.total, nowMs);
  const session = decideSession(deps, pending, { history: noHistory, totals }, nowMs);
  const { id: sessionId, publisherId } = session;
  const reservations = session.decided
    .flatMap((offer) => reservationsOf(activeCaps, offer, { sessionId, publisherId, nowMs }))
    .map(({ total, reservation }) => {
      reservation.sliceId = slices.grant(total, reservation);
      return reservation;
    });
  if (reservations.some(({ sliceId }) => sliceId === null)) {
    slices.revoke(reservations);
    return null;
  }
  return { pending, session, reservations };
}
