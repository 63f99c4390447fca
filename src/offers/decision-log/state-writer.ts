import { rowsOf } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import type { Model } from '../../learning/posteriors.ts';
import type { OfferDeps } from '../ports.ts';
import { catalogueId, insertState, packCatalogue, packModel, touchMs, touchState } from './states.ts';

/** Stores the states that decisions are made with (catalogues and models), each once, beside the requests. */
export type StateWriter = {
  /** Called with the state of each decision. */
  note: (snapshot: Snapshot, model: Model) => void;
  /** Resolves when all that was noted is stored, or has failed. */
  drain: () => Promise<void>;
};

/** Pause after a failure (milliseconds). */
const retryMs = 5_000;

/**
 * Offers of the catalogues that wait to be packed, at most, beside one (count). They stay in memory until then: where
 * a large catalogue changes faster than it can be packed, some of its states are not stored.
 */
const maxWaitingOffers = 20_000;

/** States remembered as stored (count); few are in use at once. */
const maxRemembered = 1000;

export function createStateWriter({ pool, logger, now }: Pick<OfferDeps, 'pool' | 'logger' | 'now'>): StateWriter {
  /** When each state is to be stored, or noted as still in use, next (epoch milliseconds). */
  const dueMs = new Map<string, number>();
  let work: Promise<void> = Promise.resolve();
  let waitingOffers = 0;

  function write(id: string, offers: number, pack: () => Promise<Buffer>, nowMs: number): void {
    if ((dueMs.get(id) ?? 0) > nowMs || (waitingOffers > 0 && waitingOffers + offers > maxWaitingOffers)) return;
    waitingOffers += offers;
    if (dueMs.size > maxRemembered) dueMs.clear();
    dueMs.set(id, nowMs + touchMs);
    // One after the other: packing competes with requests for the event loop.
    work = work.then(async () => {
      try {
        if (!(await touchState(pool, id, nowMs))) await insertState(pool, id, await pack(), nowMs);
      } catch (err) {
        dueMs.set(id, nowMs + retryMs);
        logger.debug({ err, id }, 'a decision state could not be stored yet');
      } finally {
        waitingOffers -= offers;
      }
    });
  }

  let last: { snapshot: Snapshot; model: Model; checkMs: number } | null = null;
  return {
    note: (snapshot, model) => {
      const nowMs = now();
      if (last !== null && last.snapshot === snapshot && last.model === model && nowMs < last.checkMs) return;
      last = { snapshot, model, checkMs: nowMs + retryMs };
      write(catalogueId(snapshot.version), snapshot.offers.size, () => packCatalogue(rowsOf(snapshot)), nowMs);
      if (model.id !== null) write(model.id, 0, () => packModel(model.posteriors), nowMs);
    },
    drain: () => work,
  };
}
