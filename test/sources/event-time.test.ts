import { expect, test } from 'vitest';
import { readEventTime } from '../../src/sources/event-time.ts';

const nowMs = Date.parse('2026-05-04T12:00:00.000Z');
const at = Date.parse('2026-05-04T10:30:15.250Z');

test.each([
  ['2026-05-04T10:30:15.250Z', at],
  ['2026-05-04T10:30:15.250981734Z', at],
  ['2026-05-04t10:30:15,250z', at],
  ['2026-05-04T16:00:15.250+05:30', at],
  // Android, iOS and PHP libraries write offsets without a colon. Other libraries write a space instead of the T.
  ['2026-05-04T12:30:15.250+0200', at],
  ['2026-05-04 10:30:15.250Z', at],
  ['2026-05-04 12:30:15.250 +02:00', at],
  ['2026-05-04T10:30Z', Date.parse('2026-05-04T10:30:00Z')],
  // Milliseconds and seconds since 1970 are told apart by their number of digits.
  [at, at],
  [String(at), at],
  [at / 1000, at],
  [Math.floor(at / 1000), Math.floor(at / 1000) * 1000],
  [String(Math.floor(at / 1000)), Math.floor(at / 1000) * 1000],
])('%s is parsed as the time that it states', (timestamp, atMs) => {
  expect(readEventTime({ timestamp }, nowMs)).toEqual({ atMs, problems: [] });
});

test.each([
  '2026-05-04T10:30:15',
  '2026-05-04',
  '04/05/2026 10:30',
  'Mon May 04 2026 10:30:15 GMT+0200',
  'yesterday',
  '2026-02-31T10:30:15Z',
  '2026-13-01T10:30:15Z',
  0,
  1,
  -5,
  20_260_504,
  1.5e15,
  true,
  {},
  [],
])('%s is invalid, so the next field or else the arrival time is used, and both are reported', (timestamp) => {
  const problem = { field: 'timestamp', reason: 'unreadable_time' };
  expect(readEventTime({ timestamp }, nowMs)).toEqual({ atMs: nowMs, problems: [problem] });
  const originalTimestamp = '2026-05-04T10:30:15.250Z';
  expect(readEventTime({ timestamp, originalTimestamp }, nowMs)).toEqual({ atMs: at, problems: [problem] });
});

test('a future time becomes the arrival time, and is reported if it exceeds plausible clock skew', () => {
  const soon = new Date(nowMs + 30_000).toISOString();
  const later = new Date(nowMs + 86_400_000).toISOString();
  expect(readEventTime({ timestamp: soon }, nowMs)).toEqual({ atMs: nowMs, problems: [] });
  expect(readEventTime({ timestamp: later }, nowMs)).toEqual({
    atMs: nowMs,
    problems: [{ field: 'timestamp', reason: 'future_time' }],
  });
});

test('an event without a time gets its arrival time', () => {
  for (const timestamp of [undefined, null, ''])
    expect(readEventTime({ timestamp }, nowMs)).toEqual({ atMs: nowMs, problems: [] });
});
