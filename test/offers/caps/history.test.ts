import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Exposure } from '../../../src/decision/types.ts';
import { trimExposures } from '../../../src/offers/caps/history.ts';

const dayMs = 86_400_000;
const nowMs = 1_800_000_000_000;

const exposure = fc.record({
  event: fc.constantFrom('impression', 'click', 'no_thanks', 'conversion'),
  offerId: fc.integer({ min: 1, max: 4 }),
  atMs: fc.integer({ min: nowMs - 400 * dayMs, max: nowMs }),
});
const exposures = fc.array(exposure, { maxLength: 600 }).map((list) =>
  list.map(
    (one): Exposure => ({
      ...one,
      event: one.event as Exposure['event'],
      campaignId: one.offerId,
      advertiserId: one.offerId,
    }),
  ),
);

const seen = (list: readonly Exposure[], event: string, offerId: number, sinceMs: number): number =>
  list
    .filter((one) => one.event === event && one.offerId === offerId && one.atMs > sinceMs)
    .reduce((sum, one) => sum + (one.count ?? 1), 0);

describe('a history that is trimmed', () => {
  test('has the same count without a window as before, and never a lower one in any window', () => {
    fc.assert(
      fc.property(exposures, fc.integer({ min: 1, max: 180 }), (list, days) => {
        const trimmed = trimExposures(trimExposures(list, nowMs), nowMs);
        for (const event of ['impression', 'click', 'no_thanks', 'conversion']) {
          for (const offerId of [1, 2, 3, 4]) {
            expect(seen(trimmed, event, offerId, Number.NEGATIVE_INFINITY)).toBe(
              seen(list, event, offerId, Number.NEGATIVE_INFINITY),
            );
            expect(seen(trimmed, event, offerId, nowMs - days * dayMs)).toBeGreaterThanOrEqual(
              seen(list, event, offerId, nowMs - days * dayMs),
            );
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  test('is exact while it is short and recent', () => {
    fc.assert(
      fc.property(exposures, (list) => {
        const young = list.filter((one) => one.atMs > nowMs - 180 * dayMs).slice(0, 256);
        expect(trimExposures(young, nowMs)).toEqual(young);
      }),
      { numRuns: 50 },
    );
  });

  test('stays small however many exposures it had', () => {
    const many = Array.from({ length: 20_000 }, (_, index): Exposure => {
      const offerId = index % 7;
      return { event: 'impression', offerId, campaignId: offerId, advertiserId: 1, atMs: nowMs - index };
    });
    expect(trimExposures(many, nowMs).length).toBeLessThanOrEqual(256 + 7);
  });
});
