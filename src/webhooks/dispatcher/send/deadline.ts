import { type Failure, fail, type SendRequest, type Timing } from './result.ts';

/** Measures a call. */
export type Clock = { timing: Timing; elapsedMs: () => number };

export function startClock(now: () => number): Clock {
  const startMs = now();
  return {
    timing: { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 },
    elapsedMs: () => now() - startMs,
  };
}

/** `reached` resolves when the call has to end; `clear` ends the watch. */
export type Deadline = { reached: Promise<Failure>; clear: () => void };

/** Ends a call early: at its deadline, by its signal, or by a function in `inFlight` when the sender closes. */
export function startDeadline({ deadlineMs, signal }: SendRequest, inFlight: Set<() => void>): Deadline {
  let settle: (failure: Failure) => void = () => {};
  const reached = new Promise<Failure>((resolve) => {
    settle = resolve;
  });
  const cancel = (): void => settle(fail('local', 'the call was cancelled'));
  const timer = setTimeout(() => settle(fail('timeout', `no complete response within ${deadlineMs} ms`)), deadlineMs);
  signal?.addEventListener('abort', cancel, { once: true });
  inFlight.add(cancel);
  if (signal?.aborted) cancel();
  const clear = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    inFlight.delete(cancel);
  };
  return { reached, clear };
}
