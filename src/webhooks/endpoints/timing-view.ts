import type { Timing } from '../dispatcher/send/result.ts';

/** Duration of each call phase for display, in milliseconds with one decimal. */
export type TimingView = {
  dns_ms: number | null;
  connect_ms: number | null;
  tls_ms: number | null;
  first_byte_ms: number | null;
  total_ms: number;
};

export const viewOfTiming = ({ dnsMs, connectMs, tlsMs, firstByteMs, totalMs }: Timing): TimingView => ({
  dns_ms: rounded(dnsMs),
  connect_ms: rounded(connectMs),
  tls_ms: rounded(tlsMs),
  first_byte_ms: rounded(firstByteMs),
  total_ms: rounded(totalMs) ?? 0,
});

const rounded = (ms: number | null | undefined): number | null =>
  ms === null || ms === undefined ? null : Math.round(ms * 10) / 10;
