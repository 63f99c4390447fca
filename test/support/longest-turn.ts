import { readFileSync } from 'node:fs';

/** Processor time of this thread so far (milliseconds); that of the process where the system does not tell threads. */
function processorMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/**
 * Runs `work` and measures the longest turn of the event loop meanwhile, in processor time: what other programs of the
 * machine take is no part of it.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let lastMs = processorMs();
  let timer: NodeJS.Immediate | null = null;
  const look = (): void => {
    const nowMs = processorMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const tick = (): void => {
    look();
    timer = setImmediate(tick);
  };
  timer = setImmediate(tick);
  try {
    await work();
    look();
  } finally {
    clearImmediate(timer);
  }
  return longestMs;
}
