import { AppError } from '../platform/errors.ts';

export type Alone = <T>(publisherId: number, work: () => Promise<T>) => Promise<T>;

/**
 * Runs work that takes much memory or time one at a time for each publisher.
 * @param what name of the work, for error messages
 */
export function createAlone(what: string): Alone {
  const running = new Set<number>();
  return async (publisherId, work) => {
    if (running.has(publisherId))
      throw new AppError('too_many_requests', {
        retryAfterS: 5,
        message: `Another ${what} of this publisher is running; try again when it has ended.`,
      });
    running.add(publisherId);
    try {
      return await work();
    } finally {
      running.delete(publisherId);
    }
  };
}
