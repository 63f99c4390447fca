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

/** A decided fetch with what it reserves of totals, granted from slices; nothing where it was decided once more. */
type EarlyFetch = DecidedFetch & { reservations: readonly Reservation[] };

type EarlyFetchDeps = FetchPathDeps & {
  usage: LiveUsage;
  slices: SliceGrants;
  /** Takes the fetches that cannot be decided early. */
  capped: FetchPath;
};

/**
 * Fetches to which no frequency cap applies. Each is decided as soon as its request is read, as if the user had opted
 * out of nothing: nearly all have not, and the statement that inserts the sessions finds those who have. They are
 * decided once more, with their opt-outs. Total caps and budgets are granted from slices that this process has leased;
 * where they do not suffice, the fetch is decided in the transaction that commits it.
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
  const unlessExpired = (one: EarlyFetch): EarlyFetch =>
    one.pending.expired ? { reservations: [], ...decideNow(one.pending) } : one;

  /** Renders during the commit. */
  async function writeWithoutOptOuts(given: readonly EarlyFetch[]): Promise<RenderedFetch[]> {
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
    forgetShown(decided.map(({ pending }) => pending).filter(({ userKey }) => optOuts.has(userKey ?? '')));
    return rendered.map((result, index) => {
      const { pending } = decided[index] as DecidedFetch;
      const found = optOuts.get(pending.userKey ?? '');
      if (found === undefined) return result;
      return hasTotalCaps(pending) ? capped.add(pending) : withOptOuts.add(decideNow(pending, found));
    });
  }

  async function writeWithOptOuts(given: readonly DecidedFetch[]): Promise<RenderedFetch[]> {
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

/** Decides with total caps. null: the slices at hand do not suffice. */
function decideFromSlices(deps: EarlyFetchDeps, pending: PendingFetch): EarlyFetch | null {
  const { now, usage, slices } = deps;
  const activeCaps = activeCapsOf(pending.snapshot);
  const known = usage.knownNow(activeCaps);
  if (known === null) return null;
  const nowMs = now();
  const totals = totalsAt(slices.without(known), activeCaps.total, nowMs);
  const session = decideSession(deps, pending, { history: noHistory, totals }, nowMs);
  const { id: sessionId, publisherId } = session;
  const reservations = session.decided
    .flatMap((shown) => reservationsOf(activeCaps, shown, { sessionId, publisherId, nowMs }))
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
