import { describe, expect, test } from 'vitest';
import { timeLimit } from '../support/time-limit.ts';
import { killRun } from './scenarios.ts';

/** Fewer wraps than in `npm run chaos`, with the same kill -9 of API, workers and PostgreSQL. */
const size = { wraps: 300, endpoints: 12 };

describe('kill -9 of API, workers and PostgreSQL under load', () => {
  test.each([7, 20])(
    'delivers every committed wrap and no others, and resends only those in flight: seed %i',
    // The test kills and restarts processes and PostgreSQL under load.
    { timeout: timeLimit(600_000) },
    async (seed) => {
      const { ok, ...verdict } = await killRun(seed, size);
      expect(verdict.kills.length).toBeGreaterThanOrEqual(3);
      expect(verdict).toMatchObject({ forgotten: 0, lost: 0, phantom: 0 });
      expect(verdict.duplicates).toBeLessThanOrEqual(verdict.cutOff);
      expect(verdict.committed).toBeGreaterThanOrEqual(size.wraps);
      expect(ok, JSON.stringify(verdict)).toBe(true);
    },
  );
});
