/*
 * Thresholds of the circuit breaker, and of failing endpoints that are warned of and disabled
 * (docs/guides/dispatcher.md).
 */

/** A call without a response for so long counts as a time-out, whatever its error (milliseconds). */
export const timeoutAfterMs = 4500;

/** The breaker opens when at least this share of at least so many calls within the window have failed … */
export const breakerWindowMs = 60_000;
export const breakerMinCalls = 10;
export const breakerFailureShare = 0.5;
/** … or after so many time-outs in a row (count). */
export const breakerTimeouts = 5;

/** How long an open breaker waits before a probe: doubled each time one fails, up to the maximum (seconds). */
export const firstProbeAfterS = 30;
export const maxProbeAfterS = 900;

/** An endpoint is failing after so many failed calls in a row (count), or while its breaker is open. */
export const failingAfterFailures = 3;

/** An endpoint without a success raises a warning after this, and is disabled after that and so many failed calls. */
export const warnedAfter = '24 hours';
export const disabledAfter = '5 days';
export const disabledMinFailures = 20;
