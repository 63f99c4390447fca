import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import {
  type ActiveCaps,
  activeCapsOfSnapshots,
  type LimitedFetch,
  noHistory,
  type OptOuts,
  totalsKey,
  type UserHistory,
} from '../caps.ts';
import type { Deciding, LimitedDecision } from '../fetches.ts';
import {
  historyOf,
  loadOptOuts,
  lockHistories,
  type OpenHistory,
  type ProfileQuery,
  type ProfileRow,
  reserveImpression,
  saveHistories,
} from '../history/history.ts';
import { insertReservations, type Reservation, reservationsOf } from '../reservations/reservations.ts';
import { insertSessions } from '../sessions.ts';
import type { SliceGrants } from '../slices/holdings.ts';
import { spendSlices } from '../slices/rows.ts';
import type { LiveUsage } from '../usage/live-usage.ts';
import { findOverruns, withExhausted, withoutOwnDeltas } from '../usage/overruns.ts';
import { totalsAt } from '../usage/totals.ts';
import { addUsage, allocationDeltas, type CampaignUsage, type UsageDelta, type UsageTable } from '../usage/usage.ts';

export type CommitDeps = {
  pool: pg.Pool;
  usage: LiveUsage;
  slices: SliceGrants;
  /** Returns a time, in epoch milliseconds, before which all acknowledged events are stored. */
  eventsStoredUntil: () => number;
  now: () => number;
};

/**
 * Maximum number of attempts per batch. After that, campaign totals that other processes used up are treated as
 * exhausted.
 */
const maxAttempts = 3;

/**
 * Thrown to roll back a transaction if other processes have used up a campaign total, or returned a leased slice of it,
 * in the meantime.
 */
class CapOverrun extends Error {
  /** Keys of the exceeded campaign totals (`totalsKey`). */
  readonly totals: ReadonlySet<string>;
  /** Usage that other processes have recorded. */
  readonly used: readonly CampaignUsage[];
  constructor(totals: ReadonlySet<string>, used: readonly CampaignUsage[]) {
    super('totals were used up meanwhile');
    this.totals = totals;
    this.used = used;
  }
}

/**
 * Decides and commits a batch so that concurrent processes cannot jointly exceed a cap. If another process used up a
 * campaign total in the meantime, the batch is rolled back and decided again with the current usage.
 */
export async function commitLocked<Fetch extends LimitedFetch, Decision extends LimitedDecision>(
  deps: CommitDeps,
  batch: readonly Fetch[],
  deciding: Deciding<Fetch, Decision>,
): Promise<Decision[]> {
  const { usage } = deps;
  let exhausted: ReadonlySet<string> = new Set();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { decisions, used } = await tryCommit(deps, batch, deciding, exhausted);
      usage.learn(used);
      return decisions;
    } catch (err) {
      if (!(err instanceof CapOverrun)) throw err;
      usage.learn(err.used);
      if (attempt >= maxAttempts) exhausted = new Set([...exhausted, ...err.totals]);
    }
  }
}

/**
 * Decides and commits a batch in one transaction:
 * - It locks the users' histories and decides the fetches.
 * - It reserves usage of campaign totals for the shown offers, from leased slices if possible.
 * - Before the commit, it compares the totals with those that the decisions assumed.
 * @param exhausted campaign totals to treat as used up, by `totalsKey`
 * @throws CapOverrun if other processes used up a total in the meantime
 */
async function tryCommit<Fetch extends LimitedFetch, Decision extends LimitedDecision>(
  { pool, usage, slices, eventsStoredUntil, now }: CommitDeps,
  batch: readonly Fetch[],
  { profiles, begin, decide }: Deciding<Fetch, Decision>,
  exhausted: ReadonlySet<string>,
): Promise<{ decisions: Decision[]; used: readonly CampaignUsage[] }> {
  const nowMs = now();
  const activeCaps = activeCapsOfSnapshots(batch.map(({ snapshot }) => snapshot));
  const storedUsage = await usage.load(activeCaps);
  const assumed = exhausted.size === 0 ? storedUsage.fork() : withExhausted(storedUsage, exhausted, activeCaps, nowMs);
  const ledger: Ledger = { table: assumed.fork(), deltas: [], reservations: [] };
  const table = slices.without(ledger.table);
  return transaction(pool, async (executor) => {
    const users = await openUsers(executor, batch, activeCaps, { nowMs, storedUntilMs: eventsStoredUntil(), profiles });
    begin(users.profileRows);
    const decisions = batch.map((fetch) => {
      const totals = totalsAt(table, activeCaps.total, nowMs);
      const decision = decide(fetch, { history: users.historyOf(fetch), totals }, nowMs);
      if (fetch.dev) return decision;
      const history = users.locked.get(fetch.userKey ?? '');
      if (history !== undefined) reserveImpressions(decision, history, activeCaps);
      reserveTotals(decision, { activeCaps, slices, ledger });
      return decision;
    });
    const granted = ledger.reservations.filter(({ slice }) => slice !== null);
    if (!(await spendSlices(executor, granted))) throw new CapOverrun(new Set(granted.map(totalOf)), []);
    const used = await addUsage(executor, ledger.deltas);
    // Exhausted totals do not count as overruns. A decision based on an older catalogue, which lacks the cap, may still
    // have used them.
    const overruns = [...findOverruns(activeCaps, ledger.deltas, used, assumed, nowMs, slices.isHeld)].filter(
      (key) => !exhausted.has(key),
    );
    if (overruns.length > 0) throw new CapOverrun(new Set(overruns), withoutOwnDeltas(ledger.deltas, used));
    await insertReservations(executor, ledger.reservations);
    await saveHistories(executor, users.locked.values(), nowMs);
    await insertSessions(
      executor,
      decisions.map(({ session }) => session),
    );
    return { decisions, used };
  }).catch((err) => {
    if (err instanceof CapOverrun) {
      slices.revoke(ledger.reservations);
      slices.drop(err.totals);
    }
    throw err;
  });
}

const totalOf = ({ campaignId, publisherId }: Reservation): string => totalsKey(campaignId, publisherId);

/** Users of a batch: locked histories for users with frequency caps, and opt-outs for all others. */
type BatchUsers = {
  locked: ReadonlyMap<string, OpenHistory>;
  profileRows: readonly ProfileRow[] | null;
  historyOf: (fetch: LimitedFetch) => UserHistory;
};

/** Times as in `lockHistories`, and the profiles to read. */
type OpenOptions = { nowMs: number; storedUntilMs: number; profiles: ProfileQuery | null };

async function openUsers(
  executor: Executor,
  batch: readonly LimitedFetch[],
  activeCaps: ActiveCaps,
  { nowMs, storedUntilMs, profiles }: OpenOptions,
): Promise<BatchUsers> {
  const capped = new Map<string, number>();
  const others = new Set<string>();
  for (const { userKey, dev, publisher } of batch) {
    if (userKey === null || dev) continue;
    if (activeCaps.hasFrequencyCaps(publisher.id)) capped.set(userKey, publisher.id);
    else others.add(userKey);
  }
  const { histories: locked, profileRows } = await lockHistories(executor, capped, { nowMs, storedUntilMs }, profiles);
  const optOuts: ReadonlyMap<string, OptOuts> = await loadOptOuts(executor, [...others]);
  return {
    locked,
    profileRows,
    historyOf: ({ userKey }) => {
      const history = locked.get(userKey ?? '');
      if (history !== undefined) return historyOf(history);
      const optedOut = optOuts.get(userKey ?? '');
      return optedOut === undefined ? noHistory : { optOuts: optedOut, exposures: [] };
    },
  };
}

/**
 * Campaign total usage caused by a batch. `table` includes the reservations that were not granted from a leased slice,
 * so that later decisions in the batch take them into account.
 */
type Ledger = { table: UsageTable; deltas: UsageDelta[]; reservations: Reservation[] };

/** Reserves campaign total usage for the offers in a session, from leased slices if possible. */
function reserveTotals(
  decision: LimitedDecision,
  { activeCaps, slices, ledger }: { activeCaps: ActiveCaps; slices: SliceGrants; ledger: Ledger },
): void {
  for (const reservation of reservationsOf(activeCaps, decision, slices.grant)) {
    ledger.reservations.push(reservation);
    if (reservation.slice !== null) continue;
    for (const delta of allocationDeltas(reservation, 1)) {
      ledger.deltas.push(delta);
      ledger.table.add(delta);
    }
  }
}

/** Reserves impressions in a user's history for the offers in a session, if a frequency cap counts them. */
export function reserveImpressions(
  { session: { id, publisherId, createdAtMs }, decided }: LimitedDecision,
  history: OpenHistory,
  activeCaps: ActiveCaps,
): void {
  for (const { offer } of decided) {
    const { id: campaignId, advertiserId } = offer.campaign;
    if (!activeCaps.countsForUser(offer.campaign, publisherId, 'impression')) continue;
    reserveImpression(history, id, { offerId: offer.id, campaignId, advertiserId, atMs: createdAtMs });
  }
}
