import type { Candidate, Standing } from './claimed.ts';
import type { ScannedEndpoint } from './scan.ts';

/** Maximum numbers of calls. `tried` limits the calls to tried endpoints, which also count towards `untrusted`. */
type Limits = { trusted: number; untrusted: number; tried: number };

/**
 * In-memory queue of the endpoints in a lane that may have deliveries to claim. Its only purpose is to avoid reading
 * other endpoints. Whether and how often an endpoint may be called is read from the database by each claim.
 */
export type ReadyQueue = {
  /** Records that these endpoints have received new deliveries. */
  arrived: (endpointIds: Iterable<number>) => void;
  /**
   * Replaces the state of the endpoints on a scanned page. `isEnd` marks the last page. After it, set-aside endpoints
   * that the scan did not find are forgotten.
   */
  scanned: (endpoints: readonly ScannedEndpoint[], isEnd: boolean) => void;
  /** Records that a call has ended, so that an endpoint at its concurrency limit can accept more deliveries. */
  freed: (endpointId: number) => void;
  /** Returns the next endpoints to claim from. They stay at the front of the queue until `update` is called. */
  peek: (limits: Limits) => number[];
  /** Whether an endpoint is queued as trusted. Unknown endpoints are, until a claim returns their standing. */
  isTrusted: (endpointId: number) => boolean;
  /**
   * Updates the queue with the result of a claim for the endpoints that `peek` returned. The result contains the number
   * of deliveries claimed per endpoint and the limits that applied.
   */
  update: (
    endpointIds: readonly number[],
    candidates: readonly Candidate[],
    claimedCounts: ReadonlyMap<number, number>,
    limits: Limits,
  ) => void;
};

/**
 * Creates a first-come, first-served queue:
 * - An endpoint that was served and may have more deliveries moves to the end.
 * - Each standing has its own queue. Untrusted endpoints never delay trusted ones, and tried endpoints never delay the
 *   first call to a new endpoint.
 * - An endpoint that is at its concurrency limit or may not be called is set aside. It returns when one of its calls
 *   ends or a scan finds that it may be called.
 * - Events that occur during a claim or scan are remembered, because the SQL statement may not have seen them.
 */
export function createReadyQueue(): ReadyQueue {
  const queues = { trusted: new Set<number>(), untried: new Set<number>(), tried: new Set<number>() };
  const setAsideIds = new Set<number>();
  /** Set-aside endpoints that the current scan has not found yet, or null if no scan is running. */
  let unseen: Set<number> | null = null;
  /** Endpoints with new deliveries since the last `peek`. */
  const newlyArrived = new Set<number>();
  const newlyFreed = new Set<number>();

  function queue(endpointId: number, standing: Standing): void {
    if (queues[standing].has(endpointId)) return;
    remove(endpointId);
    queues[standing].add(endpointId);
  }

  /** Queues an unknown endpoint as trusted, until a claim returns its actual standing. */
  function queueUnknown(endpointId: number): void {
    if (setAsideIds.has(endpointId) || queues.untried.has(endpointId) || queues.tried.has(endpointId)) return;
    queues.trusted.add(endpointId);
  }

  function remove(endpointId: number): void {
    for (const queue of Object.values(queues)) queue.delete(endpointId);
  }

  function setAside(endpointId: number): void {
    remove(endpointId);
    setAsideIds.add(endpointId);
    unseen?.delete(endpointId);
  }

  function requeue({ endpointId, standing, room }: Candidate, claimedCount: number, isCut: boolean): void {
    if (claimedCount > 0 || !isCut) remove(endpointId);
    const isFull = claimedCount >= room;
    if (isFull && !newlyFreed.has(endpointId)) setAside(endpointId);
    else if (isFull || isCut || newlyArrived.has(endpointId)) queue(endpointId, standing);
  }

  return {
    arrived: (endpointIds) => {
      for (const id of endpointIds) {
        newlyArrived.add(id);
        queueUnknown(id);
      }
    },
    scanned: (endpoints, isEnd) => {
      unseen ??= new Set(setAsideIds);
      for (const { endpointId, callable, standing } of endpoints) {
        if (callable) {
          setAsideIds.delete(endpointId);
          queue(endpointId, standing);
        } else setAside(endpointId);
      }
      if (isEnd) {
        for (const endpointId of unseen) setAsideIds.delete(endpointId);
        unseen = null;
      }
      for (const id of newlyArrived) queueUnknown(id);
    },
    freed: (endpointId) => {
      newlyFreed.add(endpointId);
      if (setAsideIds.delete(endpointId)) queues.trusted.add(endpointId);
    },
    peek: ({ trusted, untrusted, tried }) => {
      newlyArrived.clear();
      newlyFreed.clear();
      return [...first(queues.trusted, trusted), ...first(queues.untried, untrusted), ...first(queues.tried, tried)];
    },
    isTrusted: (endpointId) => queues.trusted.has(endpointId),
    update: (endpointIds, candidates, claimedCounts, limits) => {
      const isCut = cutsOf(candidates, claimedCounts, limits);
      const refused = new Set(endpointIds);
      for (const candidate of candidates) {
        requeue(candidate, claimedCounts.get(candidate.endpointId) ?? 0, isCut[candidate.standing]);
        refused.delete(candidate.endpointId);
      }
      for (const endpointId of refused) if (!newlyFreed.has(endpointId)) setAside(endpointId);
    },
  };
}

/** Returns for each standing whether its limit ended the claim. */
function cutsOf(
  candidates: readonly Candidate[],
  claimedCounts: ReadonlyMap<number, number>,
  limits: Limits,
): Record<Standing, boolean> {
  const totals = { trusted: 0, untried: 0, tried: 0 };
  for (const { endpointId, standing } of candidates) totals[standing] += claimedCounts.get(endpointId) ?? 0;
  const isUntrustedCut = totals.untried + totals.tried >= limits.untrusted;
  return {
    trusted: totals.trusted >= limits.trusted,
    untried: isUntrustedCut,
    tried: isUntrustedCut || totals.tried >= limits.tried,
  };
}

function first(ids: ReadonlySet<number>, count: number): number[] {
  const firstIds: number[] = [];
  for (const id of ids) {
    if (firstIds.length >= count) break;
    firstIds.push(id);
  }
  return firstIds;
}

/** Timers that wake the worker when retries are due, so that retries do not wait for the next poll. */
export type RetryTimers = {
  /** Sets a timer for a retry to an endpoint. */
  set: (endpointId: number, inMs: number) => void;
  stop: () => void;
};

/**
 * Length of a timer slice, in milliseconds. Retries due within the same slice share a timer, which fires at the end of
 * the slice.
 */
const sliceMs = 250;
/**
 * Maximum time until a retry that gets a timer, in milliseconds. Later retries are left to the poll, because their
 * random delay is much longer than the poll interval anyway.
 */
const horizonMs = 60_000;

/**
 * Creates the retry timers.
 * @param onDue called with the endpoints that have due retries
 */
export function createRetryTimers(onDue: (endpointIds: readonly number[]) => void, now: () => number): RetryTimers {
  let isStopped = false;
  const slices = new Map<number, { timer: NodeJS.Timeout; endpointIds: Set<number> }>();

  function end(slice: number): void {
    const endpointIds = [...(slices.get(slice)?.endpointIds ?? [])];
    slices.delete(slice);
    onDue(endpointIds);
  }

  return {
    set: (endpointId, inMs) => {
      if (isStopped || inMs > horizonMs) return;
      const nowMs = now();
      const slice = Math.floor((nowMs + inMs) / sliceMs) + 1;
      const pendingSlice = slices.get(slice);
      if (pendingSlice !== undefined) return void pendingSlice.endpointIds.add(endpointId);
      slices.set(slice, { timer: setTimeout(end, slice * sliceMs - nowMs, slice), endpointIds: new Set([endpointId]) });
    },
    stop: () => {
      isStopped = true;
      for (const { timer } of slices.values()) clearTimeout(timer);
      slices.clear();
    },
  };
}
