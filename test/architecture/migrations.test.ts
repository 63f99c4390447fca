import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { fileChecksum, listMigrations, migrationsFolder, readLock } from '../../src/platform/db/migration-files.ts';

const lockFile = new URL('checksums.json', migrationsFolder);
const update = 'UPDATE_MIGRATIONS=1 npx vitest run test/architecture/migrations.test.ts';

/** Returns the migrations of this checkout with their checksums. Does not need the git history. */
async function checksumsOfFiles(): Promise<Map<string, string>> {
  const names = [...(await listMigrations(migrationsFolder)), 'baseline/replaced.json'];
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, migrationsFolder), 'utf8')));
  return new Map(names.map((name, index) => [name, fileChecksum(texts[index] as string)]));
}

/** Adds new migrations to the list. Checksums that are already listed don't change. */
async function addNew(files: ReadonlyMap<string, string>): Promise<void> {
  const lock = await readLock(migrationsFolder);
  const entries = [...new Set([...Object.keys(lock), ...files.keys()])]
    .sort()
    .map((name) => [name, lock[name] ?? [files.get(name) as string]] as const);
  const lines = entries.map(([name, list]) => {
    const items = list.map((checksum) => JSON.stringify(checksum));
    const line = `  ${JSON.stringify(name)}: [${items.join(', ')}]`;
    return line.length < 120 ? line : `  ${JSON.stringify(name)}: [\n    ${items.join(',\n    ')}\n  ]`;
  });
  await writeFile(lockFile, `{\n${lines.join(',\n')}\n}\n`);
}

test('a released migration is never changed, renamed or removed', async () => {
  const files = await checksumsOfFiles();
  if (process.env.UPDATE_MIGRATIONS === '1') await addNew(files);
  const lock = await readLock(migrationsFolder);
  const changed = Object.entries(lock)
    .filter(([name, checksums]) => !checksums.includes(files.get(name) ?? ''))
    .map(([name]) => `migrations/${name} was changed, renamed or removed: restore it, and add a new migration`);
  const unlisted = [...files.keys()]
    .filter((name) => !(name in lock))
    .map((name) => `migrations/${name} is not in migrations/checksums.json: run ${update}`);
  expect([...changed, ...unlisted]).toEqual([]);
});
