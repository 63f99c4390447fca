import { platform, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { StorageSetting } from '../../config.ts';
import { Connection } from '../../platform/db/pool.ts';
import { createStorage } from '../storage.ts';
import { type ExportResult, exportDue } from './run.ts';

/**
 * Worker thread that exports one run, so that encoding files never blocks the event loop of the process. It has a low
 * priority, so that requests come first on a busy machine.
 */

export type ThreadInput = { databaseUrl: string; setting: StorageSetting; atOnce: boolean };

/** Result of the thread, or the error that ended it. */
export type ThreadOutput = { result: ExportResult } | { error: { name: string; message: string } };

/** Priority of the thread, as a nice value. */
const priority = 10;

async function run({ databaseUrl, setting, atOnce }: ThreadInput): Promise<ThreadOutput> {
  const client = new Connection({ server: databaseUrl, application_name: 'perkwire-data-files' });
  let isStopped = false;
  parentPort?.on('message', () => {
    isStopped = true;
  });
  try {
    await client.connect();
    const options = { storage: createStorage(setting), isStopped: () => isStopped, atOnce };
    const result = await exportDue(client, options);
    await client.end();
    return { result };
  } catch (err) {
    // Don't end the connection gracefully: that would wait for a copy that nobody reads any more.
    client.destroy();
    const { name, message } = err as Error;
    return { error: { name, message } };
  }
}

if (parentPort !== null) {
  // Other systems would lower the priority of the whole process.
  if (platform() === 'linux') setPriority(priority);
  parentPort.postMessage(await run(workerData as ThreadInput));
  parentPort.close();
}
