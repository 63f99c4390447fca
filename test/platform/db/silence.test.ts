import { expect, test } from 'vitest';
import { createSilence, tickMs } from '../../../src/platform/db/health.ts';

/** Creates a silence detector with a clock that the test controls. */
function silenceAt(startMs = 1000) {
  let nowMs = startMs;
  const silence = createSilence(() => nowMs);
  return {
    ...silence,
    /** Ticks `count` times, at intervals of `everyMs` milliseconds. */
    ticks: (count: number, everyMs: number) => {
      for (let tick = 0; tick < count; tick++) {
        nowMs += everyMs;
        silence.tick(nowMs);
      }
    },
  };
}

test('a process whose ticks are on time has been available for the whole time', () => {
  const silence = silenceAt();
  silence.ticks(10, tickMs);
  expect([silence.availableMs(), silence.elapsedMs()]).toEqual([10 * tickMs, 10 * tickMs]);
});

test('a late tick counts as one, so a starved process has been available for only a few ticks', () => {
  const silence = silenceAt();
  silence.ticks(4, 200);
  expect([silence.availableMs(), silence.elapsedMs()]).toEqual([4 * tickMs, 800]);
  silence.ticks(1, 3_600_000);
  expect(silence.availableMs()).toBe(5 * tickMs);
});

test('a response resets the silence, and the next tick does not count the time before it', () => {
  const silence = silenceAt();
  silence.ticks(8, tickMs);
  silence.end();
  expect([silence.availableMs(), silence.elapsedMs()]).toEqual([0, 0]);
  silence.ticks(2, 10);
  expect(silence.availableMs()).toBe(20);
});
