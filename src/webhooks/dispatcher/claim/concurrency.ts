/** How much may be claimed now. */
export type Allowance = {
  /** Calls for endpoints in good standing, and for all others (count). */
  trusted: number;
  untrusted: number;
  /** What an endpoint may hold of which nothing good is known yet. */
  perUnproven: number;
  /** Endpoints with calls in flight, and how many. */
  busyIds: number[];
  busyCounts: number[];
  /** Those of them with a call that has been out for long: not in good standing, whatever the record says. */
  slowIds: number[];
};

/** The calls in flight in one worker. */
export type Concurrency = {
  allowance: () => Allowance;
  /** `trusted`: the endpoint was in good standing when the call was claimed. @returns gives the slot back */
  take: (endpointId: number, trusted: boolean) => () => void;
  count: () => number;
};

/** A call that is out for longer puts its endpoint in doubt (milliseconds). */
const slowMs = 1000;
/** The share of the slots that endpoints not in good standing may hold together. */
const untrustedShare = 0.4;
/** While less than this part of that share is in use, a new endpoint gets all its calls at once, else one. */
const quietShare = 1 / 8;
/** More calls than any endpoint may hold (count). */
const unlimited = 1000;

type Busy = { trusted: boolean; startsMs: Set<{ atMs: number }> };

/**
 * Shares slots among endpoints: 60 % are kept for those in good standing. Calls beyond the 40 % of the others, as when
 * many
 * good ones hang at once, do not count against the good either; all together there are never more than twice the slots.
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
        perUnproven: untrusted < reserve * quietShare ? unlimited : 1,
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
        if (!one.startsMs.delete(start)) throw new Error('a slot was given back twice');
        all -= 1;
        if (one.startsMs.size === 0) busy.delete(endpointId);
      };
    },
  };
}
