/** How much may be claimed now (counts). */
export type Allowance = {
  /** Calls to trusted endpoints, and to all others. */
  trusted: number;
  untrusted: number;
  /** Limit of an endpoint that has never succeeded. */
  perUnproven: number;
  /** Endpoints with calls in flight, and how many. */
  busyIds: number[];
  busyCounts: number[];
  /** Those of them with a slow call: not trusted, even if the database says so. */
  slowIds: number[];
};

/** The calls in flight in one worker. */
export type Concurrency = {
  allowance: () => Allowance;
  /** @param trusted as the claim read it @returns ends the use */
  take: (endpointId: number, trusted: boolean) => () => void;
  count: () => number;
};

/** A call that takes longer makes its endpoint untrusted until it ends (milliseconds). */
const slowMs = 1000;
/** The share of the concurrency that untrusted endpoints may use together. */
const untrustedShare = 0.4;
/** While less of that share is in use, an unproven endpoint gets all its calls at once, else one. */
const unprovenShare = 1 / 8;
/** More calls than any endpoint may have in flight (count). */
const unlimited = 1000;

type Busy = { trusted: boolean; startsMs: Set<{ atMs: number }> };

/**
 * Shares a worker's concurrency among endpoints: 60 % is reserved for trusted ones. Calls beyond the 40 % of the
 * others, as when many trusted endpoints hang at once, do not count against the trusted either; all together there are
 * never more than twice the concurrency.
 */
export function createConcurrency(total: number, now: () => number): Concurrency {
  const busy = new Map<number, Busy>();
  const reserve = Math.max(1, Math.floor(total * untrustedShare));
  const isSlow = ({ startsMs }: Busy): boolean => {
    const [oldest] = startsMs;
    return oldest !== undefined && now() - oldest.atMs >= slowMs;
  };
  let all = 0;
  return {
    count: () => all,
    allowance: () => {
      const slowIds: number[] = [];
      let untrusted = 0;
      for (const [endpointId, one] of busy) {
        const slow = isSlow(one);
        if (slow) slowIds.push(endpointId);
        if (slow || !one.trusted) untrusted += one.startsMs.size;
      }
      const free = Math.min(total - (all - untrusted) - Math.min(untrusted, reserve), 2 * total - all);
      return {
        trusted: Math.max(free, 0),
        untrusted: Math.max(Math.min(reserve - untrusted, free), 0),
        perUnproven: untrusted < reserve * unprovenShare ? unlimited : 1,
        busyIds: [...busy.keys()],
        busyCounts: [...busy.values()].map(({ startsMs }) => startsMs.size),
        slowIds,
      };
    },
    take: (endpointId, trusted) => {
      const one = busy.get(endpointId) ?? { trusted, startsMs: new Set() };
      const start = { atMs: now() };
      one.trusted = trusted;
      one.startsMs.add(start);
      busy.set(endpointId, one);
      all += 1;
      return () => {
        if (!one.startsMs.delete(start)) throw new Error('a call was released twice');
        all -= 1;
        if (one.startsMs.size === 0) busy.delete(endpointId);
      };
    },
  };
}
