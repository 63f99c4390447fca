import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sqlTokens } from './sql-text.ts';

export const migrationsFolder = new URL('../../../migrations/', import.meta.url);

/** Prefix of the names of baseline files: their folder. Sorts after the numbers of all other migrations. */
export const baselinePrefix = 'baseline/';

/**
 * `checksums.json` of the migrations folder: the checksums that builds have recorded for each file. The first one is
 * recorded now, because the previous release compares it. The others belong to versions that differ only in comments.
 */
type ChecksumLock = Readonly<Record<string, readonly string[]>>;

export type Migration = {
  name: string;
  sql: string;
  /** SHA-256 to record (hex). */
  checksum: string;
  /** Every SHA-256 that a build has recorded for this migration. */
  accepted: ReadonlySet<string>;
  /** SHA-256 of the SQL without comments and white space (hex). */
  sqlChecksum: string;
};

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** SHA-256 of a migration file with normalised line ends. */
export const fileChecksum = (text: string): string => sha256(text.replaceAll('\r\n', '\n'));

/** Names of the migrations of a folder, in their order: the files of the baseline, if it has one, and the others. */
export async function listMigrations(folder: URL): Promise<string[]> {
  const entries = await readdir(folder);
  const baseline = entries.includes('baseline') ? await readdir(new URL(baselinePrefix, folder)) : [];
  const sqlFiles = (names: readonly string[]): string[] => names.filter((name) => name.endsWith('.sql')).sort();
  return [...sqlFiles(baseline).map((name) => baselinePrefix + name), ...sqlFiles(entries)];
}

/** Reads the migrations of a folder, in order. */
export async function readMigrations(folder: URL): Promise<Migration[]> {
  const [names, lock] = await Promise.all([listMigrations(folder), readLock(folder)]);
  return Promise.all(
    names.map(async (name) => {
      const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
      const own = fileChecksum(sql);
      // If the file was changed, the lock does not describe it.
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
 * The migrations that the baseline replaces, each with the checksums of its file and of its SQL under which builds have
 * recorded it; none in a folder without a baseline.
 */
export const readReplaced = (folder: URL): Promise<ChecksumLock> => readChecksums('baseline/replaced.json', folder);

async function readChecksums(name: string, folder: URL): Promise<ChecksumLock> {
  const text = await readFile(new URL(name, folder), 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return '{}';
    throw err;
  });
  return JSON.parse(text) as ChecksumLock;
}
