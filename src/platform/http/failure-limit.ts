import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { clientSubnet } from './client-subnet.ts';

/** A bucket of tokens that fills with time. */
type Bucket = { tokens: number; atMs: number };

export type RateOptions = { perS: number; burst: number };

/** Takes one token of a bucket; false when it is empty. Pure but for the bucket it is given. */
export function takeToken(bucket: Bucket, { perS, burst }: RateOptions, nowMs: number): boolean {
  bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perS);
  bucket.atMs = nowMs;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

/** A rate limit over many keys, of which the last used ones are remembered. */
export function createRateLimit(now: () => number, maxKeys = 50_000): (key: string, rate: RateOptions) => boolean {
  const buckets = new LRUCache<string, Bucket>({ max: maxKeys });
  return (key, rate) => {
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: rate.burst, atMs: now() };
      buckets.set(key, bucket);
    }
    return takeToken(bucket, rate, now());
  };
}

/** Limits failures only (bad key, bad token, unknown route): 20 a second and 100 at once for one client address. */
export type FailureLimit = {
  /** Counts a failure of this address; answers `too_many_requests` when there were too many. */
  charge: (address: string) => AppError | null;
};

const failureRate: RateOptions = { perS: 20, burst: 100 };

export function createFailureLimit(now: () => number): FailureLimit {
  const take = createRateLimit(now);
  return { charge: (address) => (take(clientSubnet(address), failureRate) ? null : tooManyRequests()) };
}

export const tooManyRequests = (): AppError => new AppError('too_many_requests', { retryAfterS: 1 });
