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

/** A body as the largest that calls take, and what reading it takes on an idle machine of two cores (milliseconds). */
const yardstick = JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, id) => [`member${id}`, id])));
const yardstickMs = 25;

/** How many times slower this machine computes just now than an idle one; at least 1. */
export function slownessNow(): number {
  const beforeMs = processorMs();
  JSON.parse(yardstick);
  return Math.max(0, (processorMs() - beforeMs) / yardstickMs);
}
