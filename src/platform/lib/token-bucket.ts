/** A token bucket. `atMs` is when it was last filled. */
export type TokenBucket = { tokens: number; atMs: number };

/** Rate of a bucket: tokens per second, and its capacity. */
export type TokenRate = { perS: number; burst: number };

/** Adds the tokens for the time since the last call. A clock that goes back adds none. */
export function refill(bucket: TokenBucket, { perS, burst }: TokenRate, nowMs: number): void {
  bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perS);
  bucket.atMs = nowMs;
}

/** Takes one token. Returns false if there is none. */
export function takeToken(bucket: TokenBucket, rate: TokenRate, nowMs: number): boolean {
  refill(bucket, rate, nowMs);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}
