import { StartupError } from '../startup-error.ts';
import { findWritable, ReadOnlyError, type WritableServer } from './find-writable.ts';
import { checkAppliedMigrations, type SchemaOptions } from './migrate.ts';
import { Connection } from './pool.ts';
import { retryStart } from './retry-start.ts';
import { createServers, placeOf } from './servers.ts';
import { tlsProblem } from './tls.ts';

const oldestVersion = 14;

/**
 * Checks that this program can use the database, without changing anything. Returns the URL of the writable server
 * (docs/operations.md#startup-errors).
 * @param limitMs how long to retry if the database is unreachable or read-only, in milliseconds
 * @throws StartupError
 */
export async function openCheckedDatabase(
  databaseUrl: string,
  limitMs: number,
  schema: SchemaOptions = {},
): Promise<string> {
  const { url, connection } = await waitForWritable(databaseUrl, limitMs);
  try {
    await checkServer(connection);
    await checkSchema(connection, schema);
    await checkPooling(connection, url);
  } finally {
    connection.destroy();
  }
  return url;
}

async function waitForWritable(databaseUrl: string, limitMs: number): Promise<WritableServer> {
  const servers = createServers(databaseUrl);
  const gaveUp = (err: Error): StartupError => unreachable(err, servers.all, limitMs);
  try {
    return await retryStart(() => findWritable(servers, 'perkwire-start'), { limitMs, gaveUp });
  } catch (err) {
    // Retrying helps during a failover or while the database starts up, but not if the password or database name is
    // wrong.
    if (err instanceof StartupError) throw err;
    const problem = tlsProblem(err as Error);
    throw new StartupError(`DATABASE_URL: ${problem ?? `${(err as Error).message}. Correct it`}.`);
  }
}

function unreachable(err: Error, urls: readonly string[], limitMs: number): StartupError {
  if (err instanceof ReadOnlyError)
    return new StartupError(
      'DATABASE_URL: the database is read-only. If it is a standby, also list the primary, such as ' +
        'postgres://a:5432,b:5432/perkwire. Otherwise switch off default_transaction_read_only.',
    );
  const reason = err.message || (err as { code?: string }).code;
  return new StartupError(
    `DATABASE_URL: no database responded at ${urls.map(placeOf).join(', ')} within ${limitMs / 1000} s (${reason}). ` +
      'Start it, or correct the URL.',
  );
}

async function checkServer(connection: Connection): Promise<void> {
  const { rows } = await connection.query<{ version: string; number: number; commit: string }>(
    `select version(), current_setting('server_version_num')::int as number,
      current_setting('synchronous_commit') as commit`,
  );
  const [server] = rows;
  if (server === undefined || !server.version.startsWith('PostgreSQL '))
    throw new StartupError('DATABASE_URL: this is not PostgreSQL. Use PostgreSQL 14 or newer.');
  const major = Math.floor(server.number / 10_000);
  if (major < oldestVersion)
    throw new StartupError(`DATABASE_URL: PostgreSQL ${major} is too old. Use PostgreSQL ${oldestVersion} or newer.`);
  if (server.commit !== 'on' && server.commit !== 'remote_apply')
    throw new StartupError(
      `DATABASE_URL: synchronous_commit stays ${server.commit} although it was set to on, so acknowledged writes ` +
        'could be lost. Connect to PostgreSQL directly, or through a pooler in session mode.',
    );
}

/**
 * Counts the tables in the schema that do not belong to an extension, and checks whether the migrations table exists.
 */
const tablesSql = `
select count(*)::int as tables,
  exists (
    select from information_schema.columns
    where table_schema = current_schema and table_name = 'schema_migrations' and column_name = 'applied_at'
  ) as ours
from pg_class
where relnamespace = current_schema::regnamespace and relkind in ('r', 'p')
  and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`;

async function checkSchema(connection: Connection, options: SchemaOptions): Promise<void> {
  const { rows } = await connection.query<{ tables: number; ours: boolean }>(tablesSql);
  const [schema] = rows;
  if (schema === undefined || schema.tables === 0) return;
  if (!schema.ours)
    throw new StartupError(
      'DATABASE_URL: the database contains tables of another program. Create one for Perkwire: createdb perkwire.',
    );
  await checkAppliedMigrations(connection, options);
}

/**
 * Detects a pooler in transaction mode. Such a pooler runs each transaction on the server connection that was used
 * last. As a result, two connections share a server process, or one connection switches between two.
 */
async function checkPooling(first: Connection, url: string): Promise<void> {
  const pidOf = async (connection: Connection): Promise<number | undefined> =>
    (await connection.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  const second = new Connection({ server: url, application_name: 'perkwire-start' });
  second.on('error', () => {});
  await second.connect();
  try {
    const before = await pidOf(first);
    await second.query('begin');
    const other = await pidOf(second);
    const after = await pidOf(first);
    await second.query('rollback');
    if (before === other || before !== after)
      throw new StartupError(
        'DATABASE_URL: this is a pooler in transaction mode, which loses settings, locks and notifications. ' +
          'Set its pool_mode to session, or connect to PostgreSQL directly.',
      );
  } finally {
    second.destroy();
  }
}
