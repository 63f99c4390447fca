import { AppError } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';

type Job = 'catalogueJob' | 'blockRuleJob' | 'importJob' | 'audienceEstimate' | 'userExportJob' | 'forecastJob';

export type Alone = <T>(publisherId: number, work: () => Promise<T>) => Promise<T>;

/**
 * Creates a limiter for expensive jobs: each publisher can run only one job of a kind at a time. A second call is
 * rejected with `too_many_requests`.
 * @param job message key for the error of the second call
 */
export function createAlone(job: Job): Alone {
  const running = new Set<number>();
  return async (publisherId, work) => {
    if (running.has(publisherId))
      throw new AppError('too_many_requests', {
        retryAfterS: 5,
        message: problem(job),
      });
    running.add(publisherId);
    try {
      return await work();
    } finally {
      running.delete(publisherId);
    }
  };
}
