import { resolve } from 'node:path';
import { findWritableUrl } from '../platform/db/find-writable.ts';
import { missingMigrations } from '../platform/db/migrate.ts';
import { Connection, type Executor } from '../platform/db/pool.ts';
import { createServers, placeOf } from '../platform/db/servers.ts';
import { type Call, usageError } from './command.ts';
import { counted } from './counted.ts';

type Environment = Call['env'];

const dataDirOf = (env: Environment): string => env.DATA_DIR || '.data';

/** Whether a database is configured in the environment, or the data directory contains one. */
export const hasDatabase = ({ env, embedded }: Call): boolean =>
  Boolean(env.DATABASE_URL) || embedded?.isIn(dataDirOf(env)) === true;

/** Returns the error message for a missing database, with the directory that was searched. */
export const noDatabaseText = (env: Environment): string =>
  `No database found: DATABASE_URL is not set, and ${resolve(dataDirOf(env))} contains no Perkwire data. ` +
  'Set DATABASE_URL or DATA_DIR, or change to the directory of the installation.';

/**
 * Opens an existing database for a command: the one in DATABASE_URL, or the embedded one in DATA_DIR, which runs until
 * `stop` is called. Never creates a database.
 * @throws CommandError if there is no database
 */
export async function openDatabase(call: Call): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const { env, embedded } = call;
  if (env.DATABASE_URL) return { url: await findWritableUrl(env.DATABASE_URL), stop: async () => {} };
  if (embedded === undefined || !hasDatabase(call)) throw usageError(noDatabaseText(env));
  return embedded.start({ dataDir: dataDirOf(env) });
}

/**
 * Checks that all migrations have been applied, without changing the database.
 * @throws CommandError if migrations of this version are missing
 */
export async function requireSchema(executor: Executor, databaseUrl: string): Promise<void> {
  const missing = await missingMigrations(executor);
  if (missing.length === 0) return;
  const place = createServers(databaseUrl).all.map(placeOf).join(', ');
  const isEmpty = missing.some((name) => name.startsWith('baseline/01-'));
  throw usageError(
    `The database ${new URL(databaseUrl).pathname.slice(1)} at ${place} ` +
      (isEmpty ? 'contains no Perkwire tables. ' : `lacks ${counted(missing.length, 'migration')} of this version. `) +
      'Set another database (DATABASE_URL, DATA_DIR), or start the service once with this one.',
  );
}

/**
 * Runs a command's work on a single connection to an existing database: the one in DATABASE_URL, or the embedded one.
 * @throws CommandError if there is no database, or migrations of this version are missing
 */
export async function inDatabase<T>(
  call: Call,
  { name, work }: { name: string; work: (client: Connection, databaseUrl: string) => Promise<T> },
): Promise<T> {
  const database = await openDatabase(call);
  const client = new Connection({ server: database.url, application_name: name, signal: call.signal });
  try {
    await client.connect();
    await requireSchema(client, database.url);
    return await work(client, database.url);
  } finally {
    await client.end();
    await database.stop();
  }
}
