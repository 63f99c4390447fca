import type pg from 'pg';
import type { Snapshot } from '../../catalog/snapshot/types.ts';
import { noHistory } from '../../decision/types.ts';
import { transaction } from '../../platform/db/pool.ts';
import {
  historyOf,
  lockHistories,
  type OpenHistory,
  reservationMs,
  reserveImpression,
  saveHistories,
} from '../caps/history.ts';
import { closing, findOverruns, type LiveUse, withoutOwn } from '../caps/live-use.ts';
import { type Needs, needsOf } from '../caps/needs.ts';
import { heldBy, insertReservations, type Reservation } from '../caps/reservations.ts';
import { addUse, type Delta, periodNames, type Used, type UseTable } from '../caps/use.ts';
import type { Model } from '../model/posteriors.ts';
import { decideItem, totalsAt } from './decide-request.ts';
import type { Item } from './fetch-item.ts';
import { insertSessions, loadOptOuts, type SessionRecord, sessionRow } from './sessions.ts';

/** How often a batch is decided anew because others used up what it counted on, before it goes without (count). */
const maxTries = 3;

type CappedDeps = {
  pool: pg.Pool;
  use: LiveUse;
  model: () => Model;
  /** Says what a decision is made with. */
  noteState: (snapshot: Snapshot, model: Model) => void;
  now: () => number;
};

/** What one try found out: it is committed, or totals were passed and nothing was written. */
type Try = { sessions: SessionRecord[]; used: readonly Used[] };

/**
 * Decides for users and campaigns that caps hold for, so that none is passed, by whatever runs at the same time:
 * users' histories are locked, read, and written back with what is shown now; what campaigns have used is added to and
 * looked at before the commit, and where it is too much, all is taken back and decided anew.
 */
export function createCappedWriter({
  pool,
  use,
  model,
  noteState,
  now,
}: CappedDeps): (items: readonly Item[]) => Promise<SessionRecord[]> {
  return async (items) => {
    let closed: ReadonlySet<string> = new Set();
    for (let tries = 1; ; tries += 1) {
      try {
        const { sessions, used } = await tryWrite(items, closed);
        use.learn(used);
        return sessions;
      } catch (err) {
        if (!(err instanceof Overrun)) throw err;
        use.learn(err.used);
        if (tries >= maxTries) closed = new Set([...closed, ...err.keys]);
      }
    }
  };

  async function tryWrite(items: readonly Item[], closed: ReadonlySet<string>): Promise<Try> {
    const nowMs = now();
    const newest = items.reduce((a, b) => (b.snapshot.version > a.snapshot.version ? b : a)).snapshot;
    const needs = needsOf(newest);
    const known = await use.known(needs);
    const assumed = closed.size === 0 ? known.fork() : closing(known, closed, needs, nowMs);
    return transaction(pool, async (executor) => {
      const [users, others] = usersOf(items, needs);
      const histories = users.size === 0 ? new Map<string, OpenHistory>() : await lockHistories(executor, users, nowMs);
      const optOuts = await loadOptOuts(executor, others);
      const book = createBook(assumed, nowMs);
      const sessions = items.map((item) => {
        const open = histories.get(item.userKey ?? '');
        const optedOut = optOuts.get(item.userKey ?? '');
        const history =
          open !== undefined
            ? historyOf(open)
            : optedOut !== undefined
              ? { optOuts: optedOut, exposures: [] }
              : noHistory;
        const sources = { history, totals: totalsAt(book.table, needs, nowMs), model: model() };
        noteState(item.snapshot, sources.model);
        const session = decideItem(item, sources, nowMs);
        if (!item.dev) hold(session, open, needs, book);
        return session;
      });
      const used = await addUse(executor, book.deltas);
      // Whoever still takes a closed one does so by an older catalogue, which does not know its cap.
      const overruns = new Set(
        [...findOverruns(needs, book.deltas, used, assumed, nowMs)].filter((key) => !closed.has(key)),
      );
      if (overruns.size > 0) throw new Overrun(overruns, withoutOwn(book.deltas, used));
      await insertReservations(executor, book.held);
      await saveHistories(executor, histories.values(), nowMs);
      await insertSessions(executor, sessions.map(sessionRow));
      return { sessions, used };
    });
  }
}

/** Takes a transaction back. */
class Overrun extends Error {
  readonly keys: ReadonlySet<string>;
  /** What is used without what was taken back. */
  readonly used: readonly Used[];
  constructor(keys: ReadonlySet<string>, used: readonly Used[]) {
    super('totals were used up meanwhile');
    this.keys = keys;
    this.used = used;
  }
}

/** The users whose histories matter, in the order of their keys, with their publishers; and the keys of all others. */
function usersOf(items: readonly Item[], needs: Needs): [Map<string, number>, string[]] {
  const users = new Map<string, number>();
  const others = new Set<string>();
  for (const { userKey, dev, publisher } of items) {
    if (userKey === null || dev) continue;
    if (needs.hasUserCaps(publisher.id)) users.set(userKey, publisher.id);
    else others.add(userKey);
  }
  return [users, [...others]];
}

/** What a batch takes of campaigns' totals, and the table in which this is seen by the next decision of the batch. */
type Book = { table: UseTable; deltas: Delta[]; held: Reservation[]; nowMs: number };

const createBook = (assumed: UseTable, nowMs: number): Book => ({ table: assumed.fork(), deltas: [], held: [], nowMs });

/** Holds what the offers of a session may use up: the impressions of the user, and the totals of the campaigns. */
function hold(
  { id, publisherId, decided }: SessionRecord,
  open: OpenHistory | undefined,
  needs: Needs,
  book: Book,
): void {
  for (const { offer, reserveMicros } of decided) {
    const { campaign } = offer;
    if (open !== undefined && needs.countsForUser(campaign, publisherId, 'impression')) {
      reserveImpression(open, id, {
        offerId: offer.id,
        campaignId: campaign.id,
        advertiserId: campaign.advertiserId,
        atMs: book.nowMs,
      });
    }
    for (const total of needs.totalsOf(campaign, publisherId)) {
      const reservation: Reservation = {
        sessionId: id,
        offerId: offer.id,
        campaignId: campaign.id,
        publisherId: total.publisherId,
        periods: periodNames(total.timeZone, book.nowMs),
        impressions: 1,
        micros: Math.ceil(reserveMicros),
        expiresAtMs: book.nowMs + reservationMs,
      };
      book.held.push(reservation);
      for (const delta of heldBy(reservation, 1)) {
        book.deltas.push(delta);
        const before = book.table.get(delta.campaignId, delta.publisherId, delta.period);
        book.table.set({
          ...delta,
          impressions: before.impressions + delta.impressions,
          clicks: before.clicks,
          micros: before.micros + delta.micros,
        });
      }
    }
  }
}
