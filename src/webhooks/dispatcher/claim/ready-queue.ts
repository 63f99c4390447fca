import type { Candidate, Standing } from './claimed.ts';
import type { ScannedEndpoint } from './scan.ts';

/** Maximum numbers of calls: to trusted endpoints, to all others, and to the tried ones among the others. */
type Limits = { trusted: number; untrusted: number; tried: number };

/**
 * Endpoints of a lane that may have deliveries to claim, as far as a worker knows. It only saves reading other
 * endpoints: each claim reads from the database whether an endpoint may be called, and how often.
 */
export type ReadyQueue = {
  /** Records that deliveries arrived for these endpoints. */
  arrived: (endpointIds: Iterable<number>) => void;
  /**
   * Replaces what is known about the endpoints of a scanned page. `isEnd`: it was the last page; endpoints that were
   * set aside and not seen by the scan are forgotten.
   */
  scanned: (endpoints: readonly ScannedEndpoint[], isEnd: boolean) => void;
  /** Records that an endpoint at its concurrency limit can take more deliveries. */
  freed: (endpointId: number) => void;
  /** Returns the next endpoints to claim from. They stay at the front until `update`. */
  peek: (limits: Limits) => number[];
  /**
   * Applies the result of a claim from the endpoints of `peek`: the number of deliveries by endpoint, and the limits.
   */
  update: (
    endpointIds: readonly number[],
    candidates: readonly Candidate[],
    found: ReadonlyMap<number, number>,
    limits: Limits,
  ) => void;
};

/**
 * First come, first served; an endpoint that was served and may have more deliveries goes to the end. Each standing has
 * its own queue, so that untrusted endpoints never delay the others, and tried ones never delay the first call of a new
 * one. An endpoint that is at its concurrency limit, or may not be called, is set aside until one of its calls ends or
 * a scan finds it callable. Events during a claim or scan may be newer than what the statement saw, so they are
 * remembered.
 */
export function createReadyQueue(): ReadyQueue {
  const queues = { trusted: new Set<number>(), untried: new Set<number>(), tried: new Set<number>() };
  const setAsideIds = new Set<number>();
  /** Set-aside endpoints that the current scan has not seen yet, or null without a scan. */
  let unseen: Set<number> | null = null;
  /** Endpoints with events since the last `peek`. */
  const newlyArrived = new Set<number>();
  const newlyFreed = new Set<number>();

  function queue(endpointId: number, standing: Standing): void {
    if (queues[standing].has(endpointId)) return;
    remove(endpointId);
    queues[standing].add(endpointId);
  }

  /** Treats an unknown endpoint as trusted, until the claim returns its standing. */
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

/** Whether the limit ended the claim, by standing. */
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

/** Wakes the worker when retries are due, so that they don't wait for the next poll. */
export type RetryTimers = {
  /** Sets a timer for a retry of an endpoint. */
  set: (endpointId: number, inMs: number) => void;
  stop: () => void;
};

/** Slice length in milliseconds. Retries due within one slice share a timer, which fires at its end. */
const sliceMs = 250;
/** Retries later than this (milliseconds) are left to the poll: their jitter is much longer than a poll interval. */
const horizonMs = 60_000;

/** @param onDue receives the endpoints with due retries */
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
