import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Exposure } from '../../src/budgets/caps.ts';
import { trimExposures } from '../../src/budgets/history/history.ts';
import { exposureEvent, exposureRecord, readRecords, reservedRecord } from '../../src/budgets/history/records.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';

const dayMs = 86_400_000;
const nowMs = 1_800_000_000_000;

const exposure = fc.record({
  event: fc.constantFrom('impression', 'click', 'no_thanks', 'conversion', exposureEvent('own:quiz')),
  offerId: fc.integer({ min: 1, max: 4 }),
  atMs: fc.integer({ min: nowMs - 400 * dayMs, max: nowMs }),
});
const exposures = fc.array(exposure, { maxLength: 600 }).map((list) =>
  list.map(
    (entry): Exposure => ({
      ...entry,
      event: entry.event as Exposure['event'],
      campaignId: entry.offerId,
      advertiserId: entry.offerId,
    }),
  ),
);

const countEvents = (list: readonly Exposure[], event: string, offerId: number, sinceMs: number): number =>
  list
    .filter((entry) => entry.event === event && entry.offerId === offerId && entry.atMs > sinceMs)
    .reduce((sum, entry) => sum + (entry.count ?? 1), 0);

describe('a trimmed history', () => {
  test('keeps the count over all time and never lowers the count in any window', () => {
    fc.assert(
      fc.property(exposures, fc.integer({ min: 1, max: 180 }), (list, days) => {
        const trimmed = trimExposures(trimExposures(list, nowMs), nowMs);
        for (const event of ['impression', 'click', 'no_thanks', 'conversion', exposureEvent('own:quiz')]) {
          for (const offerId of [1, 2, 3, 4]) {
            expect(countEvents(trimmed, event, offerId, Number.NEGATIVE_INFINITY)).toBe(
              countEvents(list, event, offerId, Number.NEGATIVE_INFINITY),
            );
            expect(countEvents(trimmed, event, offerId, nowMs - days * dayMs)).toBeGreaterThanOrEqual(
              countEvents(list, event, offerId, nowMs - days * dayMs),
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
        const young = list.filter((entry) => entry.atMs > nowMs - 180 * dayMs).slice(0, 256);
        expect(trimExposures(young, nowMs)).toEqual(young);
      }),
      { numRuns: 50 },
    );
  });

  test('stays small, however many exposures it had', () => {
    const many = Array.from({ length: 20_000 }, (_, index): Exposure => {
      const offerId = index % 7;
      return { event: 'impression', offerId, campaignId: offerId, advertiserId: 1, atMs: nowMs - index };
    });
    expect(trimExposures(many, nowMs).length).toBeLessThanOrEqual(256 + 7);
  });
});

describe('a stored history', () => {
  const ofSession = (sessionId: string, offerId: number, atMs: number) => {
    const impression: Exposure = { event: 'impression', offerId, campaignId: 2, advertiserId: 3, atMs };
    return {
      seen: impression,
      reserved: reservedRecord(impression, sessionId),
      came: exposureRecord(impression, sessionId),
    };
  };
  const session = newUuid7(nowMs);
  const first = ofSession(session, 1, nowMs);
  const second = ofSession(session, 7, nowMs);
  const other = ofSession(newUuid7(nowMs), 1, nowMs);

  test('returns the same exposures that were written', () => {
    fc.assert(
      fc.property(exposures, fc.integer({ min: 1, max: 100_000 }), (list, count) => {
        const entries = list.map((entry, index) => (index === 0 && count > 1 ? { ...entry, count } : entry));
        const stored = Buffer.concat(entries.map((entry) => exposureRecord(entry, null)));
        expect(readRecords(stored, nowMs)).toEqual({ exposures: entries, reserved: [], stale: 0 });
      }),
      { numRuns: 50 },
    );
  });

  test('keeps a reservation until the impression of the same session and offer arrives', () => {
    const reserved = [first.reserved, second.reserved, other.reserved];
    const before = readRecords(Buffer.concat(reserved), nowMs);
    expect(before.reserved.map(({ exposure }) => exposure)).toEqual([first.seen, second.seen, other.seen]);
    const after = readRecords(Buffer.concat([...reserved, first.came]), nowMs);
    expect(after.exposures).toEqual([first.seen]);
    expect(after.reserved.map(({ record }) => record)).toEqual([second.reserved, other.reserved]);
    expect(after.stale).toBe(1);
  });

  test('keeps a reservation for at most one minute', () => {
    expect(readRecords(first.reserved, nowMs + 59_999).reserved).toHaveLength(1);
    expect(readRecords(first.reserved, nowMs + 60_000)).toEqual({ exposures: [], reserved: [], stale: 1 });
  });
});
