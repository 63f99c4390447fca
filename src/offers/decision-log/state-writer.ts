import type pg from 'pg';
import { rowsOf } from '../../catalog/snapshot/store.ts';
import type { Snapshot } from '../../catalog/snapshot/types.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Model } from '../model/posteriors.ts';
import { catalogueId, insertState, packCatalogue, packLearnt, touchMs, touchState } from './states.ts';

/** Keeps the states that decisions were made with, each once, beside the requests. */
export type StateKeeper = {
  /** Says that a decision is made with these now. */
  used: (snapshot: Snapshot, model: Model) => void;
  /** Resolves when all that was used is kept, or could not be. */
  drain: () => Promise<void>;
};

/** Failed to be kept: tried again after this (milliseconds). */
const retryMs = 5_000;

/**
 * Offers of the catalogues that wait to be packed, at most, beside one (count). Each is held in memory until then:
 * where
 * a large catalogue changes faster than it can be packed, some of its states are not kept.
 */
const maxWaitingOffers = 20_000;

type KeeperOptions = { pool: pg.Pool; logger: Logger; now: () => number };

export function createStateKeeper({ pool, logger, now }: KeeperOptions): StateKeeper {
  /** When each state of late is to be looked after again. Only few are in use at once. */
  const dueMs = new Map<string, number>();
  let work: Promise<void> = Promise.resolve();

  let waitingOffers = 0;

  function keep(id: string, offers: number, pack: () => Promise<Buffer>, nowMs: number): void {
    if ((dueMs.get(id) ?? 0) > nowMs || (waitingOffers > 0 && waitingOffers + offers > maxWaitingOffers)) return;
    waitingOffers += offers;
    if (dueMs.size > 1000) dueMs.clear();
    dueMs.set(id, nowMs + touchMs);
    // One after the other: packing is the same work as a request's, and there is no hurry.
    work = work.then(async () => {
      try {
        if (!(await touchState(pool, id, nowMs))) await insertState(pool, id, await pack(), nowMs);
      } catch (err) {
        dueMs.set(id, nowMs + retryMs);
        logger.debug({ err, id }, 'a state of decisions could not be kept yet');
      } finally {
        waitingOffers -= offers;
      }
    });
  }

  let last: { snapshot: Snapshot; model: Model; checkMs: number } | null = null;
  return {
    used: (snapshot, model) => {
      const nowMs = now();
      if (last !== null && last.snapshot === snapshot && last.model === model && nowMs < last.checkMs) return;
      last = { snapshot, model, checkMs: nowMs + retryMs };
      keep(catalogueId(snapshot.version), snapshot.offers.size, () => packCatalogue(rowsOf(snapshot)), nowMs);
      if (model.id !== null) keep(model.id, 0, () => packLearnt(model.posteriors), nowMs);
    },
    drain: () => work,
  };
}
