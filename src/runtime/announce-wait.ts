import type { Logger } from '../platform/logger.ts';

/** A step of the start that takes longer says what it waits for (milliseconds). */
const silentMs = 2000;

/** Runs a step of the start. Where it takes long, a line says that the start waits, and what for. */
export async function announceWait<T>(logger: Logger, waitsFor: string, step: () => Promise<T>) {
  const timer = setTimeout(() => logger.warn({ waitsFor }, 'the start waits'), silentMs);
  try {
    return await step();
  } finally {
    clearTimeout(timer);
  }
}
