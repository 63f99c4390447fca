import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stage } from './stage.ts';

/**
 * What was used until now: processor time of server and database (µs), reads and writes of the server (count), WAL
 * that was written (bytes).
 */
export type Costs = { serverUs: number; databaseUs: number; systemCalls: number; walBytes: number };

/** Reads the costs of a server's processes, all threads, and of its database with all processes. Linux only. */
export function createCosts({ folder, pool }: Stage, ...serverPids: number[]): () => Promise<Costs> {
  return async () => {
    const postmaster = Number((await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n', 1)[0]);
    const { rows } = await pool.query<{ bytes: string }>(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes",
    );
    const backends = (await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')).trim().split(' ');
    return {
      serverUs: await sumOf(serverPids, processorUs),
      databaseUs: await sumOf([postmaster, ...backends], processorUs),
      systemCalls: await sumOf(serverPids, readsAndWrites),
      walBytes: Number(rows[0]?.bytes),
    };
  };
}

const sumOf = async <Pid>(pids: readonly Pid[], read: (pid: Pid) => Promise<number>): Promise<number> =>
  (await Promise.all(pids.map(read))).reduce((sum, one) => sum + one, 0);

/** System calls of a process that read or wrote anything, sockets too (count). */
async function readsAndWrites(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/io`, 'utf8');
  return ['syscr', 'syscw'].reduce((sum, name) => sum + Number(new RegExp(`${name}: (\\d+)`).exec(text)?.[1]), 0);
}

/** Of all threads of a process (µs); 0: it has ended. */
export async function processorUs(pid: number | string): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const times = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')),
  );
  return times.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]) / 1000, 0);
}

/** The difference of two readings, for each of so many requests. */
export const costOfEach = (before: Costs, after: Costs, requests: number): Costs => ({
  serverUs: (after.serverUs - before.serverUs) / requests,
  databaseUs: (after.databaseUs - before.databaseUs) / requests,
  systemCalls: (after.systemCalls - before.systemCalls) / requests,
  walBytes: (after.walBytes - before.walBytes) / requests,
});
