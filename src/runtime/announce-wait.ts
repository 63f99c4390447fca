import type { Logger } from '../platform/logger.ts';

/** Time after which a startup step logs what it is waiting for, in milliseconds. */
const silentMs = 2000;

/** Runs a startup step. If the step takes long, logs that the startup is waiting and what it is waiting for. */
export async function announceWait<T>(logger: Logger, waitsFor: string, step: () => Promise<T>) {
  const timer = setTimeout(() => logger.warn({ waitsFor }, 'startup is waiting'), silentMs);
  try {
    return await step();
  } finally {
    clearTimeout(timer);
  }
}
