import type pg from 'pg';
import { type ActiveCaps, noHistory, type OptOuts, totalsKey, type UserHistory } from '../../budgets/caps.ts';
import { type HistoryTimes, historyOf, lockHistories, type OpenHistory, saveHistories } from '../../budgets/history.ts';
import type { LiveUsage } from '../../budgets/live-usage.ts';
import { loadOptOuts } from '../../budgets/opt-outs.ts';
import { findOverruns, withExhausted, withoutOwnDeltas } from '../../budgets/overruns.ts';
import { insertReservations, type Reservation, reservationsOf } from '../../budgets/reservations.ts';
import type { SliceGrants } from '../../budgets/slice-holdings.ts';
import { spendSlices } from '../../budgets/slice-rows.ts';
import { totalsAt } from '../../budgets/totals.ts';
import { addUsage, type CampaignUsage, takenDeltas, type UsageDelta, type UsageTable } from '../../budgets/usage.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import type { DecidedSession, SessionRecord } from '../session-record.ts';
import { insertSessions } from '../sessions.ts';
import { type DecisionSources, decideSession } from './decide-session.ts';
import { activeCapsOfBatch, reserveImpressions } from './fetch-path.ts';
import { forgetShown, type PendingFetch } from './pending-fetch.ts';
import { profilesBeside } from './profiles.ts';

export type CappedBatchDeps = DecisionSources & {
  pool: pg.Pool;
  usage: LiveUsage;
  slices: SliceGrants;
  eventsStoredUntil: () => number;
  now: () => number;
};

export type CommittedBatch = { sessions: SessionRecord[]; used: readonly CampaignUsage[] };

/**
 * Totals were exceeded because other processes used them up meanwhile, or returned slices of them. The transaction is
 * rolled back.
 */
export class CapOverrun extends Error {
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
 * Decides and commits a batch in one transaction. It locks the users' histories, decides, reserves the shown offers,
 * from slices if possible, and before the commit compares the totals with those that the decisions assumed.
 * @param exhausted totals to treat as used up, by `totalsKey`
 * @throws CapOverrun
 */
export async function commitCapped(
  { pool, usage, slices, eventsStoredUntil, now, ...sources }: CappedBatchDeps,
  batch: readonly PendingFetch[],
  exhausted: ReadonlySet<string>,
): Promise<CommittedBatch> {
  const nowMs = now();
  const activeCaps = activeCapsOfBatch(batch);
  const storedUsage = await usage.known(activeCaps);
  const assumed = exhausted.size === 0 ? storedUsage.fork() : withExhausted(storedUsage, exhausted, activeCaps, nowMs);
  const ledger: Ledger = { table: assumed.fork(), deltas: [], reservations: [], nowMs };
  const table = slices.without(ledger.table);
  return transaction(pool, async (executor) => {
    const users = await openUsers(executor, batch, activeCaps, { nowMs, storedUntilMs: eventsStoredUntil() });
    forgetShown(batch);
    const sessions = batch.map((pending) => {
      const usageNow = { history: users.historyOf(pending), totals: totalsAt(table, activeCaps.total, nowMs) };
      const session = decideSession(sources, pending, usageNow, nowMs);
      if (pending.dev) return session;
      const history = users.locked.get(pending.userKey ?? '');
      if (history !== undefined) reserveImpressions(session, history, activeCaps);
      reserveTotals(session, { activeCaps, slices, ledger });
      return session;
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
    await insertSessions(executor, sessions);
    return { sessions, used };
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
  historyOf: (pending: PendingFetch) => UserHistory;
};

async function openUsers(
  executor: Executor,
  batch: readonly PendingFetch[],
  activeCaps: ActiveCaps,
  times: HistoryTimes,
): Promise<BatchUsers> {
  const capped = new Map<string, number>();
  const others = new Set<string>();
  for (const { userKey, dev, publisher } of batch) {
    if (userKey === null || dev) continue;
    if (activeCaps.hasFrequencyCaps(publisher.id)) capped.set(userKey, publisher.id);
    else others.add(userKey);
  }
  const beside = profilesBeside(batch, times.nowMs);
  const locked =
    capped.size === 0 && beside === null ? new Map() : await lockHistories(executor, capped, times, beside);
  const optOuts: ReadonlyMap<string, OptOuts> = await loadOptOuts(executor, [...others]);
  return {
    locked,
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
type Ledger = { table: UsageTable; deltas: UsageDelta[]; reservations: Reservation[]; nowMs: number };

/** Reserves totals of campaigns for the offers of a session. */
function reserveTotals(
  { id, publisherId, decided }: DecidedSession,
  { activeCaps, slices, ledger }: { activeCaps: ActiveCaps; slices: SliceGrants; ledger: Ledger },
): void {
  const { nowMs } = ledger;
  for (const offer of decided) {
    for (const { total, reservation } of reservationsOf(activeCaps, offer, { sessionId: id, publisherId, nowMs })) {
      reservation.sliceId = slices.grant(total, reservation);
      ledger.reservations.push(reservation);
      if (reservation.sliceId !== null) continue;
      for (const delta of takenDeltas(reservation, 1)) {
        ledger.deltas.push(delta);
        ledger.table.add(delta);
      }
    }
  }
}
