import { timeOfUuid7 } from '../../src/platform/lib/uuid7.ts';

/** Something that was done to the cluster, and which servers led and followed then. */
export type ClusterEvent = { atMs: number; what: string; leader: string; standby: string };

/** Sessions whose wrap, and sessions whose beacon, was answered with 200 and is not in the database. */
export type Losses = { wraps: readonly string[]; beacons: readonly string[] };

/** Losses that are further apart are named one by one (milliseconds). */
const gapMs = 1000;

/** What was lost beside what happened to the cluster, by time. A session's id is of its fetch, just before. */
export function lossTable(events: readonly ClusterEvent[], { wraps, beacons }: Losses): string {
  const lost = [...wraps.map((id) => ({ id, kind: 'wraps' })), ...beacons.map((id) => ({ id, kind: 'beacons' }))]
    .map(({ id, kind }) => ({ atMs: timeOfUuid7(id), kind }))
    .sort((a, b) => a.atMs - b.atMs);
  const runs: (typeof lost)[] = [];
  for (const one of lost) {
    const run = runs.at(-1);
    if (run === undefined || one.atMs - (run.at(-1)?.atMs ?? 0) > gapMs) runs.push([one]);
    else run.push(one);
  }
  const rows = runs.map((run) => {
    const countOf = (kind: string): number => run.filter((one) => one.kind === kind).length;
    const what = `LOST ${countOf('wraps')} wraps, ${countOf('beacons')} beacons until ${timeOf(run.at(-1)?.atMs ?? 0)}`;
    return { atMs: run[0]?.atMs ?? 0, what, leader: '', standby: '' };
  });
  const lines = [...events, ...rows]
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, what, leader, standby }) => [timeOf(atMs), what.padEnd(56), leader.padEnd(8), standby]);
  return [['time (UTC)'.padEnd(12), 'what'.padEnd(56), 'leader  ', 'standby'], ...lines]
    .map((cells) => cells.join('  ').trimEnd())
    .join('\n');
}

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 23);
