import type { Candidate, Standing } from './claimed.ts';
import type { ScannedEndpoint } from './scan.ts';

/** How many endpoints may be claimed from: trusted ones, all others, and those of them that were tried (count). */
type Limits = { trusted: number; untrusted: number; tried: number };

/**
 * The endpoints of a lane that may have deliveries to claim, as far as a worker knows. It saves reading other endpoints
 * and decides nothing: whether an endpoint may be called, and how often, each claim reads from the database.
 */
export type ReadyQueue = {
  /** Deliveries have come for these endpoints. */
  arrived: (endpointIds: Iterable<number>) => void;
  /**
   * A page of a scan: replaces what was known of these endpoints. `isEnd`: it was the last page; those set aside that
   * the scan did not find are forgotten.
   */
  scanned: (endpoints: readonly ScannedEndpoint[], isEnd: boolean) => void;
  /** An endpoint at its concurrency limit can take more. */
  freed: (endpointId: number) => void;
  /** The next endpoints to claim from. They stay in front until `update`. */
  peek: (limits: Limits) => number[];
  /** The result of a claim from the endpoints of `peek`: how much was found where, under which limits. */
  update: (
    endpointIds: readonly number[],
    candidates: readonly Candidate[],
    found: ReadonlyMap<number, number>,
    limits: Limits,
  ) => void;
};

/**
 * First come, first served; an endpoint that was served and may have more goes to the end. Each standing has a queue of
 * its own, so that untrusted endpoints never delay the others, nor those that were tried the first call of a new one.
 * One at its concurrency limit, or that may not be called, is set aside until one of its calls ends or a scan finds it
 * callable. Events during a claim or scan may be later than what the statement saw, so they are remembered.
 */
export function createReadyQueue(): ReadyQueue {
  const queues = { trusted: new Set<number>(), untried: new Set<number>(), tried: new Set<number>() };
  const setAsideIds = new Set<number>();
  /** Endpoints set aside that the scan under way has not found yet; null: no scan is under way. */
  let unseen: Set<number> | null = null;
  /** Since the last `peek`. */
  const newlyArrived = new Set<number>();
  const newlyFreed = new Set<number>();

  function queue(endpointId: number, standing: Standing): void {
    if (queues[standing].has(endpointId)) return;
    remove(endpointId);
    queues[standing].add(endpointId);
  }

  /** What is not known yet is taken for trusted: the claim tells. */
  function queueUnknown(endpointId: number): void {
    if (setAsideIds.has(endpointId) || queues.untried.has(endpointId) || queues.tried.has(endpointId)) return;
    queues.trusted.add(endpointId);
  }

  function remove(endpointId: number): void {
    for (const one of Object.values(queues)) one.delete(endpointId);
  }

  function setAside(endpointId: number): void {
    remove(endpointId);
    setAsideIds.add(endpointId);
    unseen?.delete(endpointId);
  }

  function requeue({ endpointId, standing, room }: Candidate, found: number, isCut: boolean): void {
    if (found > 0 || !isCut) remove(endpointId);
    const isFull = found >= room;
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
    update: (endpointIds, candidates, found, limits) => {
      const isCut = cutsOf(candidates, found, limits);
      const refused = new Set(endpointIds);
      for (const candidate of candidates) {
        requeue(candidate, found.get(candidate.endpointId) ?? 0, isCut[candidate.standing]);
        refused.delete(candidate.endpointId);
      }
      for (const endpointId of refused) if (!newlyFreed.has(endpointId)) setAside(endpointId);
    },
  };
}

/** By standing: whether a claim was ended by its limit. */
function cutsOf(
  candidates: readonly Candidate[],
  found: ReadonlyMap<number, number>,
  limits: Limits,
): Record<Standing, boolean> {
  const taken = { trusted: 0, untried: 0, tried: 0 };
  for (const { endpointId, standing } of candidates) taken[standing] += found.get(endpointId) ?? 0;
  const isUntrustedCut = taken.untried + taken.tried >= limits.untrusted;
  return {
    trusted: taken.trusted >= limits.trusted,
    untried: isUntrustedCut,
    tried: isUntrustedCut || taken.tried >= limits.tried,
  };
}

function first(ids: ReadonlySet<number>, count: number): number[] {
  const taken: number[] = [];
  for (const id of ids) {
    if (taken.length >= count) break;
    taken.push(id);
  }
  return taken;
}

/** Wakes the worker when retries are due, so that they need not wait for the next poll. */
export type RetryTimers = {
  /** A retry of an endpoint is due in so many milliseconds. */
  set: (endpointId: number, inMs: number) => void;
  stop: () => void;
};

/** Retries due within one slice share a timer, which fires at its end (milliseconds). */
const sliceMs = 250;
/** Later retries are left to the poll: their jitter is much longer than a poll (milliseconds). */
const horizonMs = 60_000;

/** @param onDue gets the endpoints with due retries */
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
      const known = slices.get(slice);
      if (known !== undefined) return void known.endpointIds.add(endpointId);
      slices.set(slice, { timer: setTimeout(end, slice * sliceMs - nowMs, slice), endpointIds: new Set([endpointId]) });
    },
    stop: () => {
      isStopped = true;
      for (const { timer } of slices.values()) clearTimeout(timer);
      slices.clear();
    },
  };
}
