import { exportDue } from '../../src/data-files/export/run.ts';
import { defaultLimits } from '../../src/data-files/export/write-table.ts';
import { createStorage, type Storage } from '../../src/data-files/storage.ts';
import { Connection } from '../../src/platform/db/pool.ts';

/*
 * Exports all committed rows, and kills its own process at a given step. Steps are the calls of the storage and of the
 * database, each with the moments before and after it. Prints the number of steps if it survives.
 */

const [databaseUrl = '', path = '', killAt = '0'] = process.argv.slice(2);
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

const around =
  <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
  async (...args: Args): Promise<T> => {
    step();
    const result = await work(...args);
    step();
    return result;
  };

const inner = createStorage({ kind: 'folder', path });
const storage: Storage = { ...inner, put: around(inner.put), get: around(inner.get) };
const client = new Connection({ server: databaseUrl });
await client.connect();
const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
client.query = around(query) as typeof client.query;
const limits = { ...defaultLimits, groupRows: 40, pendingRows: 100, pendingBytes: 8192, fileBytes: 4096 };
await exportDue(client, { storage, isStopped: () => false, atOnce: true, limits });
await client.end();
process.stdout.write(String(steps));
