import { processorUs } from './costs.ts';
import type { Stage } from './stage.ts';

/** CPU time used so far by the server and by each of its database processes, in milliseconds. */
export type Processor = { server: number; database: ReadonlyMap<number, number> };

export async function readProcessor(pool: Stage['pool'], serverPid: number): Promise<Processor> {
  const { rows } = await pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'client backend'",
  );
  const ofPid = async (pid: number): Promise<number> => (await processorUs(pid)) / 1000;
  const database = new Map(await Promise.all(rows.map(async ({ pid }) => [pid, await ofPid(pid)] as const)));
  return { server: await ofPid(serverPid), database };
}

/**
 * Returns the CPU time per repetition since a reading, in milliseconds, for the server and for the database.
 * Connections that have ended are excluded, because their CPU time is unknown.
 */
export function cpuUseSince(before: Processor, after: Processor, repeats: number): string[] {
  const ofDatabase = [...after.database].reduce((sum, [pid, ms]) => sum + ms - (before.database.get(pid) ?? 0), 0);
  return [after.server - before.server, ofDatabase].map((ms) => (ms / repeats).toFixed(0));
}
