import pg from 'pg';
import { migrate } from '../../src/platform/db/migrate.ts';
import { listMigrations, migrationsFolder } from '../../src/platform/db/migration-files.ts';
import { cloneDatabase } from './database.ts';
import { copyMigrations } from './migrations.ts';

export type EarlierDatabase = {
  url: string;
  client: pg.Client;
  /** Applies the remaining migrations. */
  upgrade: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Creates an empty database with the schema of the release before a migration. `name` is the migration's file name
 * without the number.
 */
export async function databaseBefore(name: string): Promise<EarlierDatabase> {
  const files = await listMigrations(migrationsFolder);
  const at = files.findIndex((file) => file.endsWith(`-${name}.sql`));
  if (at < 1) throw new Error(`there is no migration ${name}`);
  const database = await cloneDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('drop schema public cascade; create schema public');
  const earlier = await copyMigrations(files.slice(0, at));
  await migrate(database.url, { folder: earlier.folder });
  await earlier.remove();
  return {
    url: database.url,
    client,
    upgrade: async () => {
      await migrate(database.url);
    },
    close: async () => {
      await client.end();
      await database.drop();
    },
  };
}
