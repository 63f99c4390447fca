import { readFileSync } from 'node:fs';

/**
 * Returns the CPU time of this thread in milliseconds, or that of the process if the system does not report threads.
 */
function processorMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/**
 * Runs `work`, and returns the longest event loop turn in CPU time, in milliseconds. Other programs on the machine
 * don't affect it.
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

/**
 * JSON body as large as the largest body that calls accept. `yardstickMs` is the time to parse it on an idle two-core
 * machine, in milliseconds.
 */
const yardstick = JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, id) => [`member${id}`, id])));
const yardstickMs = 25;

/** Returns how many times slower this machine currently is than an idle one. */
export function slownessNow(): number {
  const beforeMs = processorMs();
  JSON.parse(yardstick);
  return Math.max(0, (processorMs() - beforeMs) / yardstickMs);
}
