import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import {
  type ActiveCaps,
  activeCapsOf,
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
import { addUsage, type CampaignUsage, takenDeltas, type UsageDelta, type UsageTable } from '../usage/usage.ts';

export type CommitDeps = {
  pool: pg.Pool;
  usage: LiveUsage;
  slices: SliceGrants;
  /** All events acknowledged before this time are stored (epoch milliseconds). */
  eventsStoredUntil: () => number;
  now: () => number;
};

/** Number of attempts after which a batch is decided without the totals that other processes used up. */
const maxAttempts = 3;

/**
 * Totals were exceeded because other processes used them up meanwhile, or returned slices of them. The transaction is
 * rolled back.
 */
class CapOverrun extends Error {
  /** Exceeded totals by `totalsKey`. */
  readonly totals: ReadonlySet<string>;
  /** Usage by other processes. */
  readonly used: readonly CampaignUsage[];
  constructor(totals: ReadonlySet<string>, used: readonly CampaignUsage[]) {
    super('totals were used up meanwhile');
    this.totals = totals;
    this.used = used;
  }
}

/**
 * Decides and commits a batch so that no cap is exceeded by concurrent processes. If they used up a total meanwhile,
 * everything is rolled back and decided again with the current usage.
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
 * Decides and commits a batch in one transaction. It locks the users' histories, decides, reserves the shown offers,
 * from slices if possible, and before the commit compares the totals with those that the decisions assumed.
 * @param exhausted totals to treat as used up, by `totalsKey`
 * @throws CapOverrun
 */
async function tryCommit<Fetch extends LimitedFetch, Decision extends LimitedDecision>(
  { pool, usage, slices, eventsStoredUntil, now }: CommitDeps,
  batch: readonly Fetch[],
  { profiles, begin, decide }: Deciding<Fetch, Decision>,
  exhausted: ReadonlySet<string>,
): Promise<{ decisions: Decision[]; used: readonly CampaignUsage[] }> {
  const nowMs = now();
  const activeCaps = activeCapsOfBatch(batch);
  const storedUsage = await usage.known(activeCaps);
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
    const granted = ledger.reservations.filter(({ sliceId }) => sliceId !== null);
    if (!(await spendSlices(executor, granted))) throw new CapOverrun(new Set(granted.map(totalOf)), []);
    const used = await addUsage(executor, ledger.deltas);
    // If an exhausted total is still used, an older catalogue without its cap used it.
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

/** Users of a batch: locked histories of users with caps, and opt-outs of the others. */
type BatchUsers = {
  locked: ReadonlyMap<string, OpenHistory>;
  profileRows: readonly ProfileRow[] | null;
  historyOf: (fetch: LimitedFetch) => UserHistory;
};

/** Times as of `lockHistories`. */
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
 * Usage of campaigns' totals by a batch. `table` shows following decisions of the batch what was not granted from
 * slices.
 */
type Ledger = { table: UsageTable; deltas: UsageDelta[]; reservations: Reservation[] };

/** Reserves totals of campaigns for the offers of a session. */
function reserveTotals(
  decision: LimitedDecision,
  { activeCaps, slices, ledger }: { activeCaps: ActiveCaps; slices: SliceGrants; ledger: Ledger },
): void {
  for (const { total, reservation } of reservationsOf(activeCaps, decision)) {
    reservation.sliceId = slices.grant(total, reservation);
    ledger.reservations.push(reservation);
    if (reservation.sliceId !== null) continue;
    for (const delta of takenDeltas(reservation, 1)) {
      ledger.deltas.push(delta);
      ledger.table.add(delta);
    }
  }
}

/** Caps of the newest catalogue of a batch. */
export const activeCapsOfBatch = (batch: readonly LimitedFetch[]): ActiveCaps =>
  activeCapsOf(batch.reduce((a, b) => (b.snapshot.version > a.snapshot.version ? b : a)).snapshot);

/** Reserves a user's impressions for the offers of a session, for caps that count them. */
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
