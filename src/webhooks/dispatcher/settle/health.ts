import type { Settlement } from './settle.ts';
import { breakerFailureShare, breakerMinCalls, breakerWindowMs, timeoutAfterMs } from './thresholds.ts';

/** The result of a finished call for the health of its endpoint. */
type CallResult = 'success' | 'failure' | 'timeout';

/** The results of a batch of calls for one endpoint at one URL. */
export type Observation = {
  endpointId: number;
  url: string;
  maxInFlight: number;
  /** Calls that succeeded since the last time-out, or all (count). */
  successes: number;
  succeeded: boolean;
  timedOut: boolean;
  /** Failures since the last success, or all (count). */
  failures: number;
  /** Time-outs at the end, in a row (count). */
  timeouts: number;
  /** Only time-outs, so that they continue those before. */
  onlyTimeouts: boolean;
  /** Too many calls have failed lately: the breaker opens. */
  trips: boolean;
};

/** @returns null where the call does not count: a local failure, or an endpoint that was disabled */
function callResultOf({ outcome, errorClass, status, timing }: Settlement): CallResult | null {
  if (outcome === 'delivered') return 'success';
  if (outcome === 'endpoint_disabled' || errorClass === 'local' || errorClass === null) return null;
  return errorClass === 'timeout' || (status === null && (timing?.totalMs ?? 0) >= timeoutAfterMs)
    ? 'timeout'
    : 'failure';
}

/** Endpoints remembered by their URLs, since another URL resets them (count); the least recently used is dropped. */
const maxRemembered = 10_000;

type Window = { atMs: number; failed: boolean }[];

/** Keeps the outcomes of the last minute and summarises a batch of settlements by endpoint and URL. */
export type HealthWatch = { observe: (settlements: readonly Settlement[]) => Observation[] };

export function createHealthWatch(now: () => number): HealthWatch {
  const windows = new Map<string, Window>();

  /** @returns whether at least half of at least ten calls have failed within a minute; that empties the window */
  function trips(target: string, failed: boolean): boolean {
    const nowMs = now();
    const recent = (windows.get(target) ?? []).filter(({ atMs }) => nowMs - atMs < breakerWindowMs).slice(-99);
    recent.push({ atMs: nowMs, failed });
    const failures = recent.filter((one) => one.failed).length;
    const tripped = failed && recent.length >= breakerMinCalls && failures >= recent.length * breakerFailureShare;
    windows.delete(target);
    if (!tripped) windows.set(target, recent);
    const [oldest] = windows.keys();
    if (windows.size > maxRemembered && oldest !== undefined) windows.delete(oldest);
    return tripped;
  }

  return {
    observe: (settlements) => {
      const seen = new Map<string, Observation>();
      const worthWriting = new Set<string>();
      for (const settlement of settlements) {
        const result = callResultOf(settlement);
        if (result === null) continue;
        const target = targetOf(settlement.claimed);
        const before = seen.get(target) ?? blank(settlement.claimed);
        seen.set(target, next(before, result, trips(target, result !== 'success')));
        if (result !== 'success' || !settlement.claimed.healthy) worthWriting.add(target);
      }
      return [...seen].filter(([target]) => worthWriting.has(target)).map(([, observation]) => observation);
    },
  };
}

const targetOf = ({ endpointId, url }: Settlement['claimed']): string => `${endpointId} ${url}`;

const blank = ({ endpointId, url, maxInFlight }: Settlement['claimed']): Observation => ({
  endpointId,
  url,
  maxInFlight,
  successes: 0,
  succeeded: false,
  timedOut: false,
  failures: 0,
  timeouts: 0,
  onlyTimeouts: true,
  trips: false,
});

function next(before: Observation, result: CallResult, trips: boolean): Observation {
  const common = { ...before, trips: before.trips || trips };
  if (result === 'success') {
    return {
      ...common,
      successes: before.successes + 1,
      succeeded: true,
      failures: 0,
      timeouts: 0,
      onlyTimeouts: false,
    };
  }
  const failed = { ...common, failures: before.failures + 1 };
  if (result === 'failure') return { ...failed, timeouts: 0, onlyTimeouts: false };
  return { ...failed, timeouts: before.timeouts + 1, timedOut: true, successes: 0 };
}
