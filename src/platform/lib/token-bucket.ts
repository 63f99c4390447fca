/** Token bucket state. `atMs` is the time of the last refill, in milliseconds. */
export type TokenBucket = { tokens: number; atMs: number };

/** Token bucket settings: tokens added per second, and the capacity. */
export type TokenRate = { perS: number; burst: number };

/** Adds the tokens for the time since the last refill. Adds none if the clock was set back. */
export function refill(bucket: TokenBucket, { perS, burst }: TokenRate, nowMs: number): void {
  bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perS);
  bucket.atMs = nowMs;
}

/** Takes one token. Returns false if the bucket is empty. */
export function takeToken(bucket: TokenBucket, rate: TokenRate, nowMs: number): boolean {
  refill(bucket, rate, nowMs);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}
