import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sqlTokens } from './sql-text.ts';

export const migrationsFolder = new URL('../../../migrations/', import.meta.url);

/**
 * `checksums.json` of the migrations folder: the checksums that builds have recorded for each file. The first is
 * recorded now, because the previous release compares it; the others are those of texts that differ in comments only.
 */
type ChecksumLock = Readonly<Record<string, readonly string[]>>;

export type Migration = {
  name: string;
  sql: string;
  /** SHA-256 to record, in hex. */
  checksum: string;
  /** Every SHA-256 under which this migration was recorded by a build. */
  accepted: ReadonlySet<string>;
  /** SHA-256 of the SQL without comments and white space. */
  sqlChecksum: string;
};

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** SHA-256 of a migration file, with the line ends of any checkout. */
export const fileChecksum = (text: string): string => sha256(text.replaceAll('\r\n', '\n'));

/** The migrations of a folder, in their order. */
export async function readMigrations(folder: URL): Promise<Migration[]> {
  const entries = await readdir(folder);
  const lock = entries.includes('checksums.json') ? await readLock(folder) : {};
  const names = entries.filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
      const own = fileChecksum(sql);
      // A changed file is not the one that the lock describes.
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

/** The checksums of released migrations. */
export async function readLock(folder: URL): Promise<ChecksumLock> {
  return JSON.parse(await readFile(new URL('checksums.json', folder), 'utf8')) as ChecksumLock;
}
