import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stage } from './stage.ts';

/**
 * Cumulative costs: CPU time of server and database in microseconds, number of the server's read and write calls, and
 * bytes of WAL written.
 */
export type Costs = { serverUs: number; databaseUs: number; systemCalls: number; walBytes: number };

/**
 * Returns a function that reads the costs of the server processes with all their threads, and of all database
 * processes. Works on Linux only.
 */
export function createCosts({ folder, pool }: Stage, ...serverPids: number[]): () => Promise<Costs> {
  return async () => {
    const postmaster = Number((await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n', 1)[0]);
    const { rows } = await pool.query<{ bytes: string }>(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes",
    );
    const backends = (await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')).trim().split(' ');
    return {
      serverUs: await sumOf(serverPids, processorUs),
      databaseUs: (await sumOf([postmaster, ...backends], processorUs)) + (await endedChildrenUs(postmaster)),
      systemCalls: await sumOf(serverPids, readsAndWrites),
      walBytes: Number(rows[0]?.bytes),
    };
  };
}

const sumOf = async <Pid>(pids: readonly Pid[], read: (pid: Pid) => Promise<number>): Promise<number> =>
  (await Promise.all(pids.map(read))).reduce((sum, value) => sum + value, 0);

/** Duration of a clock tick in /proc, in microseconds. */
const tickUs = 10_000;

/**
 * Returns the CPU time of a process's children that have ended, in microseconds. Without it, the total would decrease
 * when a database process ends.
 */
async function endedChildrenUs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * tickUs;
}

/** Returns the number of read and write system calls of a process, including those on sockets. */
async function readsAndWrites(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/io`, 'utf8');
  return ['syscr', 'syscw'].reduce((sum, name) => sum + Number(new RegExp(`${name}: (\\d+)`).exec(text)?.[1]), 0);
}

/** Returns the CPU time of all threads of a process in microseconds, or 0 if the process has ended. */
export async function processorUs(pid: number | string): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const times = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')),
  );
  return times.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]) / 1000, 0);
}

/** Returns the difference between two readings, divided by the number of requests. */
export const costOfEach = (before: Costs, after: Costs, requests: number): Costs => ({
  serverUs: (after.serverUs - before.serverUs) / requests,
  databaseUs: (after.databaseUs - before.databaseUs) / requests,
  systemCalls: (after.systemCalls - before.systemCalls) / requests,
  walBytes: (after.walBytes - before.walBytes) / requests,
});
