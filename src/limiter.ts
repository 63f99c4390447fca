import { AppError } from './errors.ts';

export type LimiterOptions = {
  /** Pieces of work under way at once (count). */
  atOnce: number;
  /** Pieces waiting (count); further ones are refused with 503. */
  maxWaiting: number;
  /** What the refused are told. */
  message: string;
};

/** Runs work when its turn comes. Rejects with `unavailable` (503, retry-after) when too much is waiting. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** First come, first served, so that a flood costs at most `atOnce` at any moment and `maxWaiting` in memory. */
export function createLimiter({ atOnce, maxWaiting, message }: LimiterOptions): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= maxWaiting) throw new AppError('unavailable', { retryAfterS: 1, message });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
