import { storeUnavailable } from '../errors.ts';
import type { Pulse } from './health.ts';

/** Runs work on the store; rejects with `unavailable` (503) at once when the store is away or goes away meanwhile. */
export type StoreGuard = <T>(work: () => Promise<T>) => Promise<T>;

/** For work that may be repeated: when the store goes away, nobody knows whether it was done. */
export function createStoreGuard(pulse: Pulse): StoreGuard {
  const underWay = new Set<(err: Error) => void>();
  pulse.onAway(() => {
    for (const giveUp of underWay) giveUp(storeUnavailable());
  });
  return (work) => {
    if (!pulse.isUp()) return Promise.reject(storeUnavailable());
    return new Promise((resolve, reject) => {
      underWay.add(reject);
      work()
        .then((result) => {
          pulse.sawLife();
          resolve(result);
        }, reject)
        .finally(() => underWay.delete(reject));
    });
  };
}
