import { databaseUnavailable } from '../errors.ts';
import type { DatabaseHealth } from './health.ts';

/** Runs work on the store; rejects with `unavailable` (503) at once when the store is away or goes away meanwhile. */
export type FailFast = <T>(work: () => Promise<T>) => Promise<T>;

/** For work that may be repeated: when the store goes away, nobody knows whether it was done. */
export function createFailFast(dbHealth: DatabaseHealth): FailFast {
  const underWay = new Set<(err: Error) => void>();
  dbHealth.onDown(() => {
    for (const giveUp of underWay) giveUp(databaseUnavailable());
  });
  return (work) => {
    if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
    return new Promise((resolve, reject) => {
      underWay.add(reject);
      work()
        .then((result) => {
          dbHealth.sawAnswer();
          resolve(result);
        }, reject)
        .finally(() => underWay.delete(reject));
    });
  };
}
