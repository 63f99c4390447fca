import { dayMs } from '../../../platform/lib/time.ts';
import type { ErrorClass, SendResult } from '../send/result.ts';

/**
 * Default retry schedule with backoff: delay before each attempt, in seconds. Ten attempts over about 76 h
 * (docs/reference/webhooks.md#retries).
 */
export const defaultSteps: readonly number[] = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Random variation of each delay (±20%), so that deliveries that failed together are not retried together. */
const jitter = 0.2;

/** Status codes for which the `retry-after` header is respected. */
const retryAfterStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export type NextAttemptInput = {
  /** Number of attempts already made. */
  attempts: number;
  /** Delay before each attempt, in seconds. */
  steps: readonly number[];
  /** Returns a random number in [0, 1). */
  random: () => number;
  /** Delay that the receiver requested ({@link classify}), in milliseconds. Null if it requested none. */
  retryAfterMs: number | null;
};

/**
 * Returns when the next attempt is due: after the delay of its step ±20%, or later if `retry-after` requests it (up to
 * 24 h).
 * @returns the delay from now in whole milliseconds, or null if no attempt is left and the delivery has failed
 */
export function nextAttempt({ attempts, steps, random, retryAfterMs }: NextAttemptInput): { delayMs: number } | null {
  const stepS = steps[attempts];
  if (stepS === undefined) return null;
  const stepMs = stepS * 1000 * (1 + (random() * 2 - 1) * jitter);
  return { delayMs: Math.round(Math.max(stepMs, Math.min(retryAfterMs ?? 0, maxRetryAfterMs))) };
}

/**
 * Reason why an attempt failed: no response (the sender's error classes), a blocked target, a redirect, or a status
 * other than 2xx.
 */
export type AttemptFailure = ErrorClass | 'blocked' | 'redirect' | 'status';

/**
 * Way in which a response disabled its endpoint: with status 410 (`gone`), or with the header `webhook-delivery:
 * disable` and any status (`asked`).
 */
export type DisableReason = 'gone' | 'asked';

export type Verdict =
  | { outcome: 'delivered'; status: number; disables: DisableReason | null }
  /** The receiver asked to be disabled and did not accept this delivery. */
  | { outcome: 'disable_endpoint'; status: number; disables: DisableReason }
  | {
      outcome: 'retry';
      /**
       * Whether the failure uses up an attempt. False for local failures (shutdown, no sockets left), which the
       * receiver did not cause.
       */
      countsAsAttempt: boolean;
      status: number | null;
      failure: AttemptFailure;
      /** Delay that the receiver requested, in milliseconds. Set only for the statuses 429, 502, 503 and 504. */
      retryAfterMs: number | null;
    };

/**
 * Classifies the response to an attempt (docs/reference/webhooks.md#retries). A 2xx status means that the attempt
 * succeeded. Status 410 disables the endpoint, and everything else is retried. The header `webhook-delivery: disable`
 * also disables the endpoint, with any status. {@link nextAttempt} decides whether an attempt is left.
 * @param nowMs current time in epoch milliseconds, for a date in `retry-after`
 */
export function classify(result: SendResult, nowMs: number): Verdict {
  if (result.kind === 'blocked')
    return { outcome: 'retry', countsAsAttempt: true, status: null, failure: 'blocked', retryAfterMs: null };
  if (result.kind === 'error') {
    return {
      outcome: 'retry',
      countsAsAttempt: result.class !== 'local',
      status: null,
      failure: result.class,
      retryAfterMs: null,
    };
  }
  const { status, headers } = result;
  const disables = disableReason(status, headers);
  if (status >= 200 && status < 300) return { outcome: 'delivered', status, disables };
  if (disables !== null) return { outcome: 'disable_endpoint', status, disables };
  const failure = status >= 300 && status < 400 ? 'redirect' : 'status';
  const retryAfterMs = retryAfterStatuses.has(status) ? parseRetryAfter(headers['retry-after'], nowMs) : null;
  return { outcome: 'retry', countsAsAttempt: true, status, failure, retryAfterMs };
}

function disableReason(status: number, headers: Record<string, string>): DisableReason | null {
  if (status === 410) return 'gone';
  return headers['webhook-delivery']?.trim().toLowerCase() === 'disable' ? 'asked' : null;
}

/** Maximum delay that a receiver can request, in milliseconds (24 h). */
const maxRetryAfterMs = dayMs;

const secondsPattern = /^\d+$/;
/** RFC 9110 5.6.7: IMF-fixdate and the obsolete RFC 850 format, both of which specify GMT. */
const gmtPattern = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
/** RFC 9110 5.6.7: the obsolete asctime format, which has no time zone and implies GMT. */
const asctimePattern = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

function dateMs(text: string): number {
  if (gmtPattern.test(text)) return Date.parse(text);
  return asctimePattern.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/**
 * Parses a `retry-after` header and returns the requested delay.
 * @param value header value: whole seconds or an HTTP date
 * @param nowMs current time in epoch milliseconds, for dates
 * @returns delay of 0 to 24 h in milliseconds (0 for a date in the past), or null if the header is absent or invalid
 * @see RFC 9110, 10.2.3
 */
export function parseRetryAfter(value: string | null | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  const waitMs = secondsPattern.test(text) ? Number(text) * 1000 : dateMs(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), maxRetryAfterMs);
}
