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
      const { ok, ...found } = await killRun(seed, size);
      expect(found.kills.length).toBeGreaterThanOrEqual(3);
      expect(found).toMatchObject({ forgotten: 0, lost: 0, phantom: 0 });
      expect(found.duplicates).toBeLessThanOrEqual(found.cutOff);
      expect(found.committed).toBeGreaterThanOrEqual(size.wraps);
      expect(ok, JSON.stringify(found)).toBe(true);
    },
  );
});
