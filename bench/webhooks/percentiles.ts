/** Returns p50, p95, p99 and maximum of the given durations, in milliseconds. */
export function percentiles(times: readonly number[]): { p50Ms: number; p95Ms: number; p99Ms: number; maxMs: number } {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), maxMs: at(1) };
}
