import type { Logger } from '../platform/logger.ts';

/** Time after which a step of the start logs what it waits for (milliseconds). */
const silentMs = 2000;

/** Runs a step of the start. If it takes long, it logs that the start waits, and what for. */
export async function announceWait<T>(logger: Logger, waitsFor: string, step: () => Promise<T>) {
  const timer = setTimeout(() => logger.warn({ waitsFor }, 'startup is waiting'), silentMs);
  try {
    return await step();
  } finally {
    clearTimeout(timer);
  }
}
