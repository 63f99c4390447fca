import { refill, type TokenBucket } from '../../../platform/lib/token-bucket.ts';

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
  /** Milliseconds until a rate-limited endpoint may be called; null: none is. */
  nextMs: () => number | null;
};

/** Burst, as a part of a second's calls: enough to make up for late timers. */
const burstS = 0.1;

/** `offered`: calls it could start at the last claim (count); `waits`: it got no more because of that. */
type Bucket = TokenBucket & { perS: number; offered: number; waits: boolean };

export function createRateLimiter(now: () => number): RateLimiter {
  const buckets = new Map<number, Bucket>();
  const burstOf = (perS: number): number => Math.max(1, perS * burstS);
  const fill = (bucket: Bucket): void => refill(bucket, { perS: bucket.perS, burst: burstOf(bucket.perS) }, now());

  return {
    allowance: () => {
      for (const [endpointId, bucket] of buckets) {
        fill(bucket);
        bucket.offered = Math.max(0, Math.floor(bucket.tokens));
        // An endpoint that is not listed may start one call.
        if (bucket.tokens === burstOf(bucket.perS) && !bucket.waits) buckets.delete(endpointId);
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
        fill(bucket);
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
      fill(bucket);
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
