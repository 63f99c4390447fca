import { timeOfUuid7 } from '../../src/platform/lib/uuid7.ts';

/** An action on the cluster, with the leader and the standby at that time. */
export type ClusterEvent = { atMs: number; what: string; leader: string; standby: string };

/** IDs of sessions whose wrap or beacon was answered with 200 but is not in the database. */
export type Losses = { wraps: readonly string[]; beacons: readonly string[] };

/** Losses within this time of each other are listed as one group, in milliseconds. */
const gapMs = 1000;

/**
 * Formats a timeline of cluster events and losses. A loss is placed at the time of its session ID, that is, of the
 * fetch just before.
 */
export function lossTable(events: readonly ClusterEvent[], { wraps, beacons }: Losses): string {
  const lost = [...wraps.map((id) => ({ id, kind: 'wraps' })), ...beacons.map((id) => ({ id, kind: 'beacons' }))]
    .map(({ id, kind }) => ({ atMs: timeOfUuid7(id), kind }))
    .sort((a, b) => a.atMs - b.atMs);
  const runs: (typeof lost)[] = [];
  for (const loss of lost) {
    const run = runs.at(-1);
    if (run === undefined || loss.atMs - (run.at(-1)?.atMs ?? 0) > gapMs) runs.push([loss]);
    else run.push(loss);
  }
  const rows = runs.map((run) => {
    const countOf = (kind: string): number => run.filter((loss) => loss.kind === kind).length;
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
