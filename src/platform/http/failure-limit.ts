import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { type TokenBucket, type TokenRate, takeToken } from '../lib/token-bucket.ts';

/** A rate limit over many keys, of which the last used ones are remembered. */
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

/** Limits failures only (bad key, bad token, unknown route): 20 a second and 100 at once for one client address. */
export type FailureLimit = {
  /** Counts a failure of this address; answers `too_many_requests` when there were too many. */
  charge: (address: string) => AppError | null;
  /** Whether a refused request may have a log line: clients that send nonsense must not fill the disk. */
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
 * What stands for a client where clients are limited: its address; of IPv6 the /64, all of which one customer of a
 * provider holds.
 */
export function clientSubnet(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join(':') : parsed.toString();
}
