import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../src/platform/lib/time.ts';
import { instantOf, offsetMs, periodOf } from '../../../src/platform/lib/time-zone.ts';

const zones = [
  ...['UTC', 'Europe/Berlin', 'Atlantic/Azores', 'America/New_York', 'America/Havana', 'America/Santiago'],
  ...['America/Nuuk', 'America/St_Johns', 'Africa/Casablanca', 'Africa/Cairo', 'Asia/Beirut', 'Asia/Kathmandu'],
  ...['Australia/Lord_Howe', 'Pacific/Chatham', 'Pacific/Kiritimati', 'Pacific/Pago_Pago'],
];
const localOf = (zone: string, atMs: number): number => atMs + offsetMs(zone, atMs);
const fromMs = Date.UTC(2026, 0, 1);
const untilMs = Date.UTC(2027, 0, 1);

test.each(zones)('in %s an existing local time maps to its instant, and a repeated one to the first', (zone) => {
  for (let atMs = fromMs; atMs < untilMs; atMs += 30 * minuteMs) {
    const localMs = localOf(zone, atMs);
    const foundMs = instantOf(zone, localMs);
    expect([localOf(zone, foundMs), foundMs <= atMs], new Date(atMs).toISOString()).toEqual([localMs, true]);
  }
});

test.each(zones)('in %s each day begins where the previous one ends and contains its times', (zone) => {
  let { endMs } = periodOf('day', zone, fromMs);
  while (endMs < untilMs) {
    const next = periodOf('day', zone, endMs);
    expect(next.startMs, new Date(endMs).toISOString()).toBe(endMs);
    expect(Math.abs(next.endMs - next.startMs - dayMs)).toBeLessThanOrEqual(hourMs);
    expect(periodOf('day', zone, next.endMs - 1)).toEqual(next);
    endMs = next.endMs;
  }
});

test.each(zones)('in %s each hour begins where the previous one ends and contains its times', (zone) => {
  let { endMs } = periodOf('hour', zone, fromMs);
  while (endMs < untilMs) {
    const next = periodOf('hour', zone, endMs);
    expect(next.startMs, new Date(endMs).toISOString()).toBe(endMs);
    for (let atMs = next.startMs; atMs < next.endMs; atMs += 15 * minuteMs)
      if (next.endMs - next.startMs !== hourMs) expect(periodOf('hour', zone, atMs)).toEqual(next);
    endMs = next.endMs;
  }
});

test('a half-hour clock change extends the preceding hour by the remaining half hour', () => {
  const hourAt = (at: string): string[] => {
    const { startMs, endMs } = periodOf('hour', 'Australia/Lord_Howe', Date.parse(at));
    return [startMs, endMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
  };
  expect(hourAt('2026-04-05T01:40+11:00')).toEqual(['2026-04-04T14:00', '2026-04-04T15:30']);
  expect(hourAt('2026-04-05T01:40+10:30')).toEqual(['2026-04-04T14:00', '2026-04-04T15:30']);
  expect(hourAt('2026-10-04T02:40+11:00')).toEqual(['2026-10-03T14:30', '2026-10-03T16:00']);
});

test('a skipped local time maps to an instant equally long after the clock change', () => {
  const instant = (zone: string, local: string): string =>
    new Date(instantOf(zone, Date.parse(`${local}Z`))).toISOString();
  expect(instant('America/New_York', '2026-03-08T02:30')).toBe('2026-03-08T07:30:00.000Z');
  expect(instant('Europe/Berlin', '2026-03-29T02:30')).toBe('2026-03-29T01:30:00.000Z');
  expect(instant('America/Santiago', '2026-09-06T00:00')).toBe('2026-09-06T04:00:00.000Z');
});
