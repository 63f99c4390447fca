import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sqlTokens } from './sql-text.ts';

export const migrationsFolder = new URL('../../../migrations/', import.meta.url);

/**
 * Name prefix of baseline files, which is also their folder name. It sorts after all other migrations, whose names
 * start with a number.
 */
export const baselinePrefix = 'baseline/';

/**
 * Contents of `checksums.json` in the migrations folder: for each file, all checksums that builds have recorded. The
 * first checksum is the one to record now, because the previous release compares it. The others are from earlier texts
 * of the file with the same effect.
 */
type ChecksumLock = Readonly<Record<string, readonly string[]>>;

export type Migration = {
  name: string;
  sql: string;
  /** SHA-256 to record, in hex. */
  checksum: string;
  /** All SHA-256 checksums that builds have recorded for this migration. */
  accepted: ReadonlySet<string>;
  /** SHA-256 of the SQL without comments and white space, in hex. */
  sqlChecksum: string;
};

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns the SHA-256 of a migration file with normalised line endings. */
export const fileChecksum = (text: string): string => sha256(text.replaceAll('\r\n', '\n'));

/** Returns the names of the migrations in a folder, in order: first the baseline files, if any, and then the others. */
export async function listMigrations(folder: URL): Promise<string[]> {
  const entries = await readdir(folder);
  const baseline = entries.includes('baseline') ? await readdir(new URL(baselinePrefix, folder)) : [];
  const sqlFiles = (names: readonly string[]): string[] => names.filter((name) => name.endsWith('.sql')).sort();
  return [...sqlFiles(baseline).map((name) => baselinePrefix + name), ...sqlFiles(entries)];
}

/** Reads the migrations in a folder, in order. */
export async function readMigrations(folder: URL): Promise<Migration[]> {
  const [names, lock] = await Promise.all([listMigrations(folder), readLock(folder)]);
  return Promise.all(
    names.map(async (name) => {
      const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
      const own = fileChecksum(sql);
      // If the file was changed, the recorded checksums do not apply.
      const recorded = lock[name]?.includes(own) === true ? lock[name] : [own];
      return {
        name,
        sql,
        checksum: recorded[0] ?? own,
        accepted: new Set(recorded),
        sqlChecksum: sha256(JSON.stringify(sqlTokens(sql))),
      };
    }),
  );
}

/** Reads the checksums of released migrations. */
export const readLock = (folder: URL): Promise<ChecksumLock> => readChecksums('checksums.json', folder);

/**
 * Reads the migrations that the baseline replaces, with all file and SQL checksums that builds have recorded for each.
 * Empty for a folder without a baseline.
 */
export const readReplaced = (folder: URL): Promise<ChecksumLock> => readChecksums('baseline/replaced.json', folder);

async function readChecksums(name: string, folder: URL): Promise<ChecksumLock> {
  const text = await readFile(new URL(name, folder), 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return '{}';
    throw err;
  });
  return JSON.parse(text) as ChecksumLock;
}
