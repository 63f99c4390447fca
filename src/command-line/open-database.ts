import { resolve } from 'node:path';
import { findWritableUrl } from '../platform/db/find-writable.ts';
import { missingMigrations } from '../platform/db/migrate.ts';
import { Connection, type Executor } from '../platform/db/pool.ts';
import { createServers, placeOf } from '../platform/db/servers.ts';
import { type Call, usageError } from './command.ts';

type Environment = Call['env'];

const dataDirOf = (env: Environment): string => env.DATA_DIR || '.data';

/** Whether the environment configures a database, or its data folder contains one. */
export const hasDatabase = ({ env, embedded }: Call): boolean =>
  Boolean(env.DATABASE_URL) || embedded?.isIn(dataDirOf(env)) === true;

/** Error text with the missing database and the folder that was searched. */
export const noDatabaseText = (env: Environment): string =>
  `No database found: DATABASE_URL is not set, and ${resolve(dataDirOf(env))} contains no Perkwire data. ` +
  'Set DATABASE_URL or DATA_DIR, or change to the directory of the installation.';

/**
 * Opens the database of a command: that of DATABASE_URL, or the embedded one in DATA_DIR, which runs until `stop`.
 * Never creates one.
 * @throws CommandError if there is none
 */
export async function openDatabase(call: Call): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const { env, embedded } = call;
  if (env.DATABASE_URL) return { url: await findWritableUrl(env.DATABASE_URL), stop: async () => {} };
  if (embedded === undefined || !hasDatabase(call)) throw usageError(noDatabaseText(env));
  return embedded.start({ dataDir: dataDirOf(env) });
}

/** Checks the schema without changes. @throws CommandError if the database lacks tables of this version */
export async function requireSchema(executor: Executor, databaseUrl: string): Promise<void> {
  const missing = await missingMigrations(executor);
  if (missing.length === 0) return;
  const place = createServers(databaseUrl).all.map(placeOf).join(', ');
  const isEmpty = missing.some((name) => name.startsWith('baseline/01-'));
  throw usageError(
    `The database ${new URL(databaseUrl).pathname.slice(1)} at ${place} ` +
      (isEmpty ? 'contains no Perkwire tables. ' : `lacks ${missing.length} migrations of this version. `) +
      'Set another database (DATABASE_URL, DATA_DIR), or start the service once with this one.',
  );
}

/**
 * Runs a command's work in an existing database, on one connection: that of DATABASE_URL, or the embedded one.
 * @throws CommandError if there is none, or it lacks tables of this version
 */
export async function inDatabase<T>(
  call: Call,
  { name, work }: { name: string; work: (client: Connection) => Promise<T> },
): Promise<T> {
  const database = await openDatabase(call);
  const client = new Connection({ server: database.url, application_name: name, signal: call.signal });
  try {
    await client.connect();
    await requireSchema(client, database.url);
    return await work(client);
  } finally {
    await client.end();
    await database.stop();
  }
}
