import type { Settlement } from './settle.ts';

/** What a finished call says of its endpoint. */
export type Sign = 'success' | 'failure' | 'timeout';

/** What several calls that ended together say of one endpoint, in their order. */
export type Observation = {
  endpointId: number;
  maxInFlight: number;
  /** Calls that succeeded since the last time-out, or all (count). */
  successes: number;
  succeeded: boolean;
  timedOut: boolean;
  /** Failures since the last success, or all (count). */
  failures: number;
  /** Time-outs at the end, in a row (count). */
  timeouts: number;
  /** Whether there was nothing but time-outs, so that they go on from those before. */
  onlyTimeouts: boolean;
  /** Too much has failed lately: the breaker opens. */
  trips: boolean;
};

/** No answer for that long is a time-out, whatever it is called (milliseconds). */
const silentMs = 4500;

/** @returns null where the call says nothing: our own fault, or a receiver that wants no more */
export function signOf({ outcome, errorClass, status, timing }: Settlement): Sign | null {
  if (outcome === 'delivered') return 'success';
  if (outcome === 'endpoint_disabled' || errorClass === 'local' || errorClass === null) return null;
  return errorClass === 'timeout' || (status === null && (timing?.totalMs ?? 0) >= silentMs) ? 'timeout' : 'failure';
}

const windowMs = 60_000;
const minInWindow = 10;
const failingShare = 0.5;
/**
 * Endpoints remembered by their URLs, since another URL starts afresh (count); the one that was quiet longest is
 * forgotten first.
 */
const maxRemembered = 10_000;

type Window = { atMs: number; failed: boolean }[];

/** Remembers the outcomes of the last minute and sums up what a batch of settlements says of its endpoints. */
export type HealthWatch = { observe: (settlements: readonly Settlement[]) => Observation[] };

export function createHealthWatch(now: () => number): HealthWatch {
  const windows = new Map<string, Window>();

  /** @returns whether at least half of at least ten calls have failed within a minute; then it starts anew */
  function trips({ endpointId, url }: Settlement['claimed'], failed: boolean): boolean {
    const target = `${endpointId} ${url}`;
    const nowMs = now();
    const recent = (windows.get(target) ?? []).filter(({ atMs }) => nowMs - atMs < windowMs).slice(-99);
    recent.push({ atMs: nowMs, failed });
    const failures = recent.filter((one) => one.failed).length;
    const tripped = failed && recent.length >= minInWindow && failures >= recent.length * failingShare;
    windows.delete(target);
    if (!tripped) windows.set(target, recent);
    const [oldest] = windows.keys();
    if (windows.size > maxRemembered && oldest !== undefined) windows.delete(oldest);
    return tripped;
  }

  return {
    observe: (settlements) => {
      const seen = new Map<number, Observation>();
      const worthWriting = new Set<number>();
      for (const settlement of settlements) {
        const sign = signOf(settlement);
        if (sign === null) continue;
        const { endpointId, maxInFlight, healthy } = settlement.claimed;
        const before = seen.get(endpointId) ?? blank(endpointId, maxInFlight);
        seen.set(endpointId, next(before, sign, trips(settlement.claimed, sign !== 'success')));
        if (sign !== 'success' || !healthy) worthWriting.add(endpointId);
      }
      return [...seen.values()].filter(({ endpointId }) => worthWriting.has(endpointId));
    },
  };
}

const blank = (endpointId: number, maxInFlight: number): Observation => ({
  endpointId,
  maxInFlight,
  successes: 0,
  succeeded: false,
  timedOut: false,
  failures: 0,
  timeouts: 0,
  onlyTimeouts: true,
  trips: false,
});

function next(before: Observation, sign: Sign, trips: boolean): Observation {
  const common = { ...before, trips: before.trips || trips };
  if (sign === 'success') {
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
  if (sign === 'failure') return { ...failed, timeouts: 0, onlyTimeouts: false };
  return { ...failed, timeouts: before.timeouts + 1, timedOut: true, successes: 0 };
}
