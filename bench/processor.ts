import { processorUs } from './costs.ts';
import type { Stage } from './stage.ts';

/** Processor time taken so far by the server, and by each process of the database for it (milliseconds). */
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
 * What was taken since, for one of the repeats (milliseconds): of the server, of the database. Not of connections that
 * ended meanwhile, whose time nobody knows.
 */
export function takenSince(before: Processor, after: Processor, repeats: number): string[] {
  const ofDatabase = [...after.database].reduce((sum, [pid, ms]) => sum + ms - (before.database.get(pid) ?? 0), 0);
  return [after.server - before.server, ofDatabase].map((ms) => (ms / repeats).toFixed(0));
}
