export type RateAllowance = { limitedIds: number[]; limitedCounts: number[] };

/** Keeps endpoints to their rate limits. Only one worker calls such an endpoint, so its memory is enough. */
export type RateLimiter = {
  /** Known endpoints, and how many calls each may start now. */
  allowance: () => RateAllowance;
  /** A claim had room for so many calls of an endpoint: notes whether the rate was the limit. */
  observe: (endpointId: number, room: number) => void;
  /** Endpoints that waited for their rate and may be called now. Each is named once. */
  ready: () => number[];
  /** A call starts. `perS` is the endpoint's rate; null where it has none. */
  spend: (endpointId: number, perS: number | null) => void;
  /** Milliseconds until an endpoint that waits may be called; null: none waits. */
  nextMs: () => number | null;
};

/** Burst, as a part of a second's calls: enough to make up for late timers. */
const burstS = 0.1;

/** `offered`: calls it could start at the last claim (count); `waits`: no more were given to it because of that. */
type Bucket = { perS: number; tokens: number; atMs: number; offered: number; waits: boolean };

export function createRateLimiter(now: () => number): RateLimiter {
  const buckets = new Map<number, Bucket>();
  const sizeOf = (perS: number): number => Math.max(1, perS * burstS);

  function refill(bucket: Bucket): void {
    const nowMs = now();
    bucket.tokens = Math.min(sizeOf(bucket.perS), bucket.tokens + ((nowMs - bucket.atMs) / 1000) * bucket.perS);
    bucket.atMs = nowMs;
  }

  return {
    allowance: () => {
      for (const [endpointId, bucket] of buckets) {
        refill(bucket);
        bucket.offered = Math.max(0, Math.floor(bucket.tokens));
        if (bucket.tokens === sizeOf(bucket.perS) && !bucket.waits) buckets.delete(endpointId); // an unknown one may start one call
      }
      return { limitedIds: [...buckets.keys()], limitedCounts: [...buckets.values()].map(({ offered }) => offered) };
    },
    observe: (endpointId, room) => {
      const bucket = buckets.get(endpointId);
      if (bucket !== undefined) bucket.waits = room === bucket.offered;
    },
    ready: () => {
      const endpointIds: number[] = [];
      for (const [endpointId, bucket] of buckets) {
        refill(bucket);
        if (!bucket.waits || bucket.tokens < 1) continue;
        bucket.waits = false;
        endpointIds.push(endpointId);
      }
      return endpointIds;
    },
    spend: (endpointId, perS) => {
      if (perS === null) return void buckets.delete(endpointId);
      const bucket = buckets.get(endpointId) ?? { perS, tokens: 1, atMs: now(), offered: 1, waits: false };
      bucket.perS = perS;
      refill(bucket);
      bucket.tokens -= 1;
      buckets.set(endpointId, bucket);
    },
    nextMs: () => {
      let nearestMs: number | null = null;
      for (const { perS, tokens, atMs } of buckets.values()) {
        const waitMs = ((1 - tokens) / perS) * 1000 - (now() - atMs);
        if (tokens < 1) nearestMs = Math.min(nearestMs ?? waitMs, waitMs);
      }
      return nearestMs === null ? null : Math.max(1, Math.ceil(nearestMs));
    },
  };
}
