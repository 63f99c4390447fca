import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { migrate } from '../../src/platform/db/migrate.ts';
import { cloneDatabase } from './database.ts';

const own = new URL('../../migrations/', import.meta.url);

export type EarlierDatabase = {
  url: string;
  client: pg.Client;
  /** Applies the migrations that are left. */
  upgrade: () => Promise<void>;
  close: () => Promise<void>;
};

/** An empty database as the release before a migration makes it. `name`: of its file, without the number. */
export async function databaseBefore(name: string): Promise<EarlierDatabase> {
  const files = (await readdir(own)).filter((file) => file.endsWith('.sql')).sort();
  const at = files.findIndex((file) => file.endsWith(`-${name}.sql`));
  if (at < 1) throw new Error(`there is no migration ${name}`);
  const database = await cloneDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('drop schema public cascade; create schema public');
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-migrations-'));
  const apply = async (names: string[]): Promise<void> => {
    await Promise.all(names.map((file) => copyFile(new URL(file, own), join(folder, file))));
    await migrate(database.url, { folder: pathToFileURL(`${folder}/`) });
  };
  await apply(files.slice(0, at));
  return {
    url: database.url,
    client,
    upgrade: () => apply(files.slice(at)),
    close: async () => {
      await client.end();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}
