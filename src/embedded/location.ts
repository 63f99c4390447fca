import { createHash, randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Account, canReach, runProgram, serverAccount } from './account.ts';

/** Folder of root for what the server's user cannot reach elsewhere. */
export const sharedFolder = '/var/lib/perkwire';

/** Where the cluster of a data folder is, or is to be made, and as whom its server runs. */
export interface ClusterLocation {
  folder: string;
  exists: boolean;
  account: Account | undefined;
}

/**
 * `<dataDir>/postgres`, unless we are root and the server's user cannot pass through the data folder (a parent is 0700,
 * as /root is): then a folder of its own below /var/lib/perkwire, found again through the file `postgres.location`.
 */
export async function findLocation(dataDir: string): Promise<ClusterLocation> {
  const moved = await readFile(locationFile(dataDir), 'utf8').catch(() => undefined);
  const folder = moved?.trim() ?? join(dataDir, 'postgres');
  const found = await stat(folder).catch(() => undefined);
  if (found !== undefined) return existingLocation(folder, found);
  if (moved !== undefined) {
    throw new Error(
      `The database of ${dataDir} was at ${folder} and is missing. ` +
        `Move it back, or write its new place into ${locationFile(dataDir)}.`,
    );
  }
  const account = await serverAccount(undefined);
  if (account === undefined || (await canReach(account, dataDir))) return { folder, exists: false, account };
  // The random part keeps a data folder that was wiped and made anew apart from the cluster of the former one.
  const prefix = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const parent = join(sharedFolder, `${prefix}-${randomBytes(4).toString('hex')}`);
  await mkdir(parent, { recursive: true });
  return { folder: join(parent, 'postgres'), exists: false, account };
}

/** Remembers a new cluster that is not inside the data folder. */
export async function recordLocation(
  dataDir: string,
  { folder, account }: ClusterLocation,
  log: (line: string) => void,
): Promise<void> {
  if (folder === join(dataDir, 'postgres')) return;
  await writeFile(locationFile(dataDir), `${folder}\n`);
  log(`The database is kept in ${folder}: PostgreSQL runs as user id ${account?.uid}, which cannot reach ${dataDir}`);
}

async function existingLocation(folder: string, found: Stats): Promise<ClusterLocation> {
  const account = await serverAccount(found);
  if (account === undefined && process.getuid !== undefined && found.uid !== process.getuid()) {
    throw new Error(`The database in ${folder} belongs to user id ${found.uid}: run as that user or as root`);
  }
  if (account !== undefined && found.uid === 0)
    await runProgram('chown', ['-R', `${account.uid}:${account.gid}`, folder], undefined);
  if (account !== undefined && !(await canReach(account, folder))) {
    throw new Error(
      `User id ${account.uid}, which the database in ${folder} belongs to, cannot reach it: ` +
        'open its parent folders (chmod o+x)',
    );
  }
  return { folder, exists: true, account };
}

function locationFile(dataDir: string): string {
  return join(dataDir, 'postgres.location');
}
