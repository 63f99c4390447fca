import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { type TokenBucket, type TokenRate, takeToken } from '../lib/token-bucket.ts';

/** Creates a rate limit for many keys. It remembers the most recently used ones. */
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

/** Limits failures only (bad key, bad token, unknown route): 20 per second and 100 at once for one client address. */
export type FailureLimit = {
  /** Counts a failure of an address. Returns `too_many_requests` after too many failures. */
  charge: (address: string) => AppError | null;
  /** Whether to log a rejected request, so that clients that send nonsense cannot fill the disk. */
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

/** Key of a client for limits: its address, or the /64 network for IPv6, which providers assign to one customer. */
export function clientSubnet(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join(':') : parsed.toString();
}
