import { AppError } from '../errors.ts';

export type LimiterOptions = {
  /** Pieces of work under way at once (count). */
  atOnce: number;
  /** Of them, for the same customer (count). Default: all. */
  atOnceEach?: number;
  /** Pieces waiting for the same customer (count); further ones are refused with 503. */
  maxWaiting: number;
  /** Pieces waiting in all (count). Default: no bound beside that for each customer. */
  maxWaitingAll?: number;
  /** What waits for longer is refused, too (milliseconds). Default: no end. */
  maxWaitMs?: number;
  /** What the refused are told. */
  message: string;
};

export type Turn = {
  /** Whose work it is. Default: all are the same. */
  customer?: number | string;
  /** Says that nobody waits for the work any more: it is not begun. */
  signal?: AbortSignal | undefined;
};

/**
 * Runs work when its turn comes. Rejects with `unavailable` (503, retry-after) when too much is waiting, or for too
 * long.
 */
export type Limiter = <T>(work: () => Promise<T>, turn?: Turn) => Promise<T>;

/** What is under way and waits for one customer. */
type Line = { running: number; waiting: (() => void)[] };

/**
 * First come, first served, and customers in turns: a flood costs at most `atOnce` at any moment, `maxWaiting` in
 * memory, and other
 * customers one piece of work of waiting.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const {
    atOnce,
    atOnceEach = atOnce,
    maxWaiting,
    maxWaitingAll = Number.POSITIVE_INFINITY,
    maxWaitMs,
    message,
  } = options;
  /** In the order of their turns. */
  const lines = new Map<number | string, Line>();
  let running = 0;
  let waitingAll = 0;

  const isFree = (line: Line): boolean => running < atOnce && line.running < atOnceEach;
  const refused = (): AppError => new AppError('unavailable', { retryAfterS: 1, message });

  function begin(customer: number | string, line: Line): void {
    running += 1;
    line.running += 1;
    lines.delete(customer);
    lines.set(customer, line); // last in the order
  }

  function removeIfIdle(customer: number | string, line: Line): void {
    if (line.running === 0 && line.waiting.length === 0) lines.delete(customer);
  }

  function end(customer: number | string, line: Line): void {
    running -= 1;
    line.running -= 1;
    removeIfIdle(customer, line);
    for (const [other, theirs] of lines) {
      if (theirs.waiting.length === 0 || !isFree(theirs)) continue;
      begin(other, theirs);
      theirs.waiting.shift()?.();
      return;
    }
  }

  const wait = (customer: number | string, line: Line, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (how: () => void): void => {
        waitingAll -= 1;
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        how();
      };
      const start = (): void => settle(resolve);
      const giveUp = (): void => {
        line.waiting.splice(line.waiting.indexOf(start), 1);
        removeIfIdle(customer, line);
        settle(() => reject(refused()));
      };
      const timer = maxWaitMs === undefined ? undefined : setTimeout(giveUp, maxWaitMs);
      signal?.addEventListener('abort', giveUp);
      line.waiting.push(start);
      waitingAll += 1;
    });

  return async (work, { customer = 0, signal } = {}) => {
    const line = lines.get(customer) ?? { running: 0, waiting: [] };
    if (signal?.aborted || (!isFree(line) && (line.waiting.length >= maxWaiting || waitingAll >= maxWaitingAll)))
      throw refused();
    lines.set(customer, line);
    if (isFree(line)) begin(customer, line);
    else await wait(customer, line, signal);
    try {
      return await work();
    } finally {
      end(customer, line);
    }
  };
}
