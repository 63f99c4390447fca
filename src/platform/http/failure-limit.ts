import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { type TokenBucket, type TokenRate, takeToken } from '../lib/token-bucket.ts';

/** Creates a rate limit by key. Only the most recently used keys are tracked. */
export function createRateLimit(now: () => number, maxKeys = 50_000): (key: string, rate: TokenRate) => boolean {
  const buckets = new LRUCache<string, TokenBucket>({ max: maxKeys });
  return (key, rate) => {
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: rate.burst, atMs: now() };
      buckets.set(key, bucket);
    }
    return takeToken(bucket, rate, now());
  };
}

/**
 * Rate limit that counts only failed requests (invalid key, invalid token, unknown route). Each client address may
 * cause 20 failures per second, with a burst of 100.
 */
export type FailureLimit = {
  /**
   * Counts a failure of a client address. Returns a `too_many_requests` error if the limit is exceeded, or else null.
   */
  charge: (address: string) => AppError | null;
  /** Whether a rejected request may be logged. This prevents clients from filling the disk with invalid requests. */
  mayLog: () => boolean;
};

const failureRate: TokenRate = { perS: 20, burst: 100 };
const logRate: TokenRate = { perS: 50, burst: 500 };

export function createFailureLimit(now: () => number): FailureLimit {
  const take = createRateLimit(now);
  const lines: TokenBucket = { tokens: logRate.burst, atMs: now() };
  return {
    charge: (address) => (take(clientSubnet(address), failureRate) ? null : tooManyRequests()),
    mayLog: () => takeToken(lines, logRate, now()),
  };
}

export const tooManyRequests = (): AppError => new AppError('too_many_requests', { retryAfterS: 1 });

/**
 * Returns the key under which a client is rate limited: its IPv4 address, or its /64 network for IPv6, because
 * providers assign a whole /64 network to each customer.
 */
export function clientSubnet(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join(':') : parsed.toString();
}
