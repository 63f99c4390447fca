import type { Candidate } from './claim.ts';
import type { ScannedEndpoint } from './scan.ts';

/** How many endpoints may be visited: of those in good standing, and of all others. */
type Room = { trusted: number; untrusted: number };

/**
 * What a worker knows of who has something to call. It spares candidates and decides nothing: whether an endpoint may be
 * called,
 * and for how much, a claim reads itself.
 */
export type ReadyQueue = {
  /** Something has come for these endpoints. */
  arrived: (endpointIds: Iterable<number>) => void;
  /**
   * Some of all that wait were looked at: puts what was seen in the place of what was known. `isEnd`: these were the
   * last; what
   * was known of endpoints that nobody saw is forgotten.
   */
  scanned: (waiting: readonly ScannedEndpoint[], isEnd: boolean) => void;
  /** An endpoint that held all it may can take more. */
  freed: (endpointId: number) => void;
  /** The endpoints whose turn it is. They keep their turn until they were visited. */
  peek: (room: Room) => number[];
  /** What a claim of `peek` brought: how much was found where, and which limits it met. */
  update: (
    endpointIds: readonly number[],
    candidates: readonly Candidate[],
    found: ReadonlyMap<number, number>,
    limits: Room,
  ) => void;
};

/**
 * Endpoints take turns, first come, first served; one that had its turn and may have more goes to the end. Those in
 * doubt
 * have a line of their own, so that they never keep the others waiting. One that holds all it may, or may not be
 * called, is
 * set aside until one of its calls has ended or somebody has looked. What happens while a claim or a look is under way
 * may
 * be later than what that saw, so it is remembered.
 */
export function createReadyQueue(): ReadyQueue {
  const good = new Set<number>();
  const doubtful = new Set<number>();
  const aside = new Set<number>();
  /** Those aside since before the look under way, which has not come to them; null: nobody looks. */
  let unseen: Set<number> | null = null;
  /** Since the last `peek`: for whom something came, and who was freed. */
  const came = new Set<number>();
  const loosened = new Set<number>();

  function queue(endpointId: number, trusted: boolean): void {
    const [own, other] = trusted ? [good, doubtful] : [doubtful, good];
    other.delete(endpointId);
    own.add(endpointId);
  }

  function leave(endpointId: number): void {
    good.delete(endpointId);
    doubtful.delete(endpointId);
  }

  function setAside(endpointId: number): void {
    leave(endpointId);
    aside.add(endpointId);
    unseen?.delete(endpointId);
  }

  function settle({ endpointId, trusted, room }: Candidate, found: number, isCut: boolean): void {
    if (found > 0 || !isCut) leave(endpointId);
    const isFull = found >= room;
    if (isFull && !loosened.has(endpointId)) setAside(endpointId);
    else if (isFull || isCut || came.has(endpointId)) queue(endpointId, trusted);
  }

  return {
    arrived: (endpointIds) => {
      for (const id of endpointIds) {
        came.add(id);
        if (!aside.has(id) && !doubtful.has(id)) good.add(id);
      }
    },
    scanned: (waiting, isEnd) => {
      unseen ??= new Set(aside);
      for (const { endpointId, callable, trusted } of waiting) {
        if (!callable) {
          setAside(endpointId);
          continue;
        }
        aside.delete(endpointId);
        queue(endpointId, trusted);
      }
      if (isEnd) {
        for (const endpointId of unseen) aside.delete(endpointId);
        unseen = null;
      }
      for (const id of came) if (!aside.has(id) && !doubtful.has(id)) good.add(id);
    },
    freed: (endpointId) => {
      loosened.add(endpointId);
      if (aside.delete(endpointId)) good.add(endpointId);
    },
    peek: ({ trusted, untrusted }) => {
      came.clear();
      loosened.clear();
      return [...first(good, trusted), ...first(doubtful, untrusted)];
    },
    update: (endpointIds, candidates, found, limits) => {
      const taken = { trusted: 0, untrusted: 0 };
      for (const { endpointId, trusted } of candidates)
        taken[trusted ? 'trusted' : 'untrusted'] += found.get(endpointId) ?? 0;
      const refused = new Set(endpointIds);
      for (const visit of candidates) {
        const side = visit.trusted ? 'trusted' : 'untrusted';
        settle(visit, found.get(visit.endpointId) ?? 0, taken[side] >= limits[side]);
        refused.delete(visit.endpointId);
      }
      for (const endpointId of refused) if (!loosened.has(endpointId)) setAside(endpointId);
    },
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
