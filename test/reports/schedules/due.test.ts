import { expect, test } from 'vitest';
import { nextDueMs } from '../../../src/reports/schedules/due.ts';

const next = (period: 'day' | 'week' | 'month', hour: number, zone: string, after: string): string =>
  new Date(nextDueMs({ period, hour }, zone, Date.parse(after))).toISOString();

test('a period begins at the local hour each day, on Mondays or on the first of a month', () => {
  expect(next('day', 8, 'Europe/Berlin', '2026-11-22T06:59:59Z')).toBe('2026-11-22T07:00:00.000Z');
  expect(next('day', 8, 'Europe/Berlin', '2026-11-22T07:00:00Z')).toBe('2026-11-23T07:00:00.000Z');
  expect(next('week', 0, 'America/New_York', '2026-11-22T14:30:00Z')).toBe('2026-11-23T05:00:00.000Z');
  expect(next('month', 23, 'Asia/Kathmandu', '2026-12-01T17:15:00Z')).toBe('2027-01-01T17:15:00.000Z');
});

test('a clock change neither skips a day nor sends a report twice', () => {
  expect(next('day', 2, 'Europe/Berlin', '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
  expect(next('day', 2, 'Europe/Berlin', '2026-03-29T01:00:00Z')).toBe('2026-03-30T00:00:00.000Z');
  expect(next('day', 2, 'Europe/Berlin', '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:00:00.000Z');
  expect(next('day', 2, 'Europe/Berlin', '2026-10-25T00:00:00Z')).toBe('2026-10-26T01:00:00.000Z');
});

test('the last hour of a day that a clock change skips still belongs to that day', () => {
  expect(next('day', 23, 'America/Nuuk', '2026-03-28T12:00:00Z')).toBe('2026-03-29T00:59:00.000Z');
  expect(next('day', 23, 'America/Nuuk', '2026-03-29T00:59:00Z')).toBe('2026-03-30T00:00:00.000Z');
});

test('an hour that a clock change skips, even at midnight, becomes the next hour', () => {
  expect(next('day', 2, 'America/New_York', '2026-03-07T12:00:00Z')).toBe('2026-03-08T07:00:00.000Z');
  expect(next('day', 0, 'America/Santiago', '2026-09-05T12:00:00Z')).toBe('2026-09-06T04:00:00.000Z');
  expect(next('day', 0, 'America/Santiago', '2026-09-06T04:00:00Z')).toBe('2026-09-07T03:00:00.000Z');
  expect(next('day', 0, 'America/Havana', '2026-03-07T12:00:00Z')).toBe('2026-03-08T05:00:00.000Z');
  expect(next('day', 0, 'Atlantic/Azores', '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
});
