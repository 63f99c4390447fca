import { databaseUnavailable } from '../errors.ts';
import type { DatabaseHealth } from './health.ts';
import { isDatabaseUnavailable } from './pool.ts';

/** Runs work on the database; rejects with `unavailable` (503) at once when it is or becomes unavailable. */
export type FailFast = <T>(work: () => Promise<T>) => Promise<T>;

/** For work that may be repeated: when the database becomes unavailable, whether it was done is unknown. */
export function createFailFast(dbHealth: Pick<DatabaseHealth, 'isUp' | 'onDown' | 'sawFailure'>): FailFast {
  const underWay = new Set<(err: Error) => void>();
  dbHealth.onDown(() => {
    for (const reject of underWay) reject(databaseUnavailable());
  });
  return (work) => {
    if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
    return new Promise((resolve, reject) => {
      underWay.add(reject);
      work()
        .then(resolve, (err) => {
          if (isDatabaseUnavailable(err)) dbHealth.sawFailure(err);
          reject(err);
        })
        .finally(() => underWay.delete(reject));
    });
  };
}
