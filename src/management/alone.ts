import { AppError } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';

type Job = 'catalogueJob' | 'blockRuleJob' | 'importJob' | 'userExportJob';

export type Alone = <T>(publisherId: number, work: () => Promise<T>) => Promise<T>;

/**
 * Runs work that takes much memory or time one at a time for each publisher.
 * @param job key of the text for a second call
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
