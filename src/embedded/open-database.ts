import { existsSync } from 'node:fs';
import { type Call, usageError } from '../command-line/command.ts';
import { findWritableUrl } from '../platform/db/find-writable.ts';
import { Connection } from '../platform/db/pool.ts';

/** The database of a command: that of DATABASE_URL, else the embedded one in DATA_DIR, which runs until `stop`. */
export async function openDatabase(
  env: Call['env'] = process.env,
): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const url = env.DATABASE_URL ?? '';
  if (url !== '') return { url: await findWritableUrl(url), stop: async () => {} };
  const { startEmbeddedPostgres } = await import('./postgres.ts');
  return startEmbeddedPostgres({ dataDir: env.DATA_DIR || '.data' });
}

/**
 * What a command does in a database that exists, on one connection: that of DATABASE_URL, else the embedded one.
 * @throws CommandError when there is none
 */
export async function inDatabase<T>(
  { env, signal }: Pick<Call, 'env' | 'signal'>,
  { name, work }: { name: string; work: (client: Connection) => Promise<T> },
): Promise<T> {
  const dataDir = env.DATA_DIR || '.data';
  if (!env.DATABASE_URL && !existsSync(dataDir))
    throw usageError(`DATABASE_URL is not set, and there is no folder ${dataDir}. Set one, or DATA_DIR.`);
  const database = await openDatabase(env);
  const client = new Connection({ server: database.url, application_name: name, signal });
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
    await database.stop();
  }
}
