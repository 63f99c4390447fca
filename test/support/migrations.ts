import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { listMigrations, migrationsFolder } from '../../src/platform/db/migration-files.ts';

/** Copies only some of the migrations to a new folder, as in an earlier build. */
export async function copyMigrations(names: readonly string[]): Promise<{ folder: URL; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'perkwire-migrations-'));
  await cp(migrationsFolder, path, { recursive: true });
  const folder = pathToFileURL(`${path}/`);
  const others = (await listMigrations(folder)).filter((name) => !names.includes(name));
  await Promise.all(others.map((name) => rm(fileURLToPath(new URL(name, folder)))));
  return { folder, remove: () => rm(path, { recursive: true }) };
}
