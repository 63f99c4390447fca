import { expect, test } from 'vitest';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { lossTable } from './losses.ts';

const startMs = Date.parse('2026-01-01T10:00:00.000Z');
const idAt = (seconds: number): string => newUuid7(startMs + seconds * 1000);

test('the table lists losses between cluster events, with one line per period', () => {
  const events = [
    { atMs: startMs, what: 'leader killed', leader: 'one', standby: 'two' },
    { atMs: startMs + 30_000, what: 'mended', leader: 'two', standby: 'three' },
  ];
  const table = lossTable(events, { wraps: [idAt(21), idAt(20.5), idAt(40)], beacons: [idAt(20)] });
  expect(table.split('\n').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'time (UTC) | what | leader | standby',
    '10:00:00.000 | leader killed | one | two',
    '10:00:20.000 | LOST 2 wraps, 1 beacons until 10:00:21.000',
    '10:00:30.000 | mended | two | three',
    '10:00:40.000 | LOST 1 wraps, 0 beacons until 10:00:40.000',
  ]);
});
