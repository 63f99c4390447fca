import { createHash, randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Account, canReach, runProgram, serverAccount } from './account.ts';

/** Folder owned by root, for clusters whose server user can't access the data folder. */
export const sharedFolder = '/var/lib/perkwire';

/** Location of the cluster that belongs to a data folder, and the system user that runs its server. */
export interface ClusterLocation {
  folder: string;
  exists: boolean;
  account: Account | undefined;
}

/**
 * Finds the location of the cluster, which is usually `<dataDir>/postgres`. If this process is root and the server's
 * user can't traverse the data folder (for example, because a parent such as /root has mode 0700), the cluster is in a
 * separate folder under /var/lib/perkwire. The file `postgres.location` contains the path of that folder.
 */
export async function findLocation(dataDir: string): Promise<ClusterLocation> {
  const moved = await readFile(locationFile(dataDir), 'utf8').catch(() => undefined);
  const folder = moved?.trim() ?? join(dataDir, 'postgres');
  const folderStats = await stat(folder).catch(() => undefined);
  if (folderStats !== undefined) return existingLocation(folder, folderStats);
  if (moved !== undefined) {
    throw new Error(
      `The database of ${dataDir} is missing. It was in ${folder}. ` +
        `Move it back, or write its new location to ${locationFile(dataDir)}.`,
    );
  }
  const account = await serverAccount(undefined);
  if (account === undefined || (await canReach(account, dataDir))) return { folder, exists: false, account };
  // The hash identifies the data folder. A random suffix is added, so that a deleted and recreated data folder doesn't
  // pick up its old cluster.
  const prefix = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const parent = join(sharedFolder, `${prefix}-${randomBytes(4).toString('hex')}`);
  await mkdir(parent, { recursive: true });
  return { folder: join(parent, 'postgres'), exists: false, account };
}

/** Records the location of a new cluster that is outside of the data folder. */
export async function recordLocation(
  dataDir: string,
  { folder, account }: ClusterLocation,
  log: (details: object, message: string) => void,
): Promise<void> {
  if (folder === join(dataDir, 'postgres')) return;
  await writeFile(locationFile(dataDir), `${folder}\n`);
  log({ folder, dataDir, userId: account?.uid }, 'embedded database stored elsewhere; its user cannot access DATA_DIR');
}

async function existingLocation(folder: string, stats: Stats): Promise<ClusterLocation> {
  const account = await serverAccount(stats);
  if (account === undefined && process.getuid !== undefined && stats.uid !== process.getuid()) {
    throw new Error(`The database in ${folder} belongs to user id ${stats.uid}. Run Perkwire as that user or as root`);
  }
  if (account !== undefined && stats.uid === 0)
    await runProgram('chown', ['-R', `${account.uid}:${account.gid}`, folder], undefined);
  if (account !== undefined && !(await canReach(account, folder))) {
    throw new Error(
      `User id ${account.uid}, which owns the database in ${folder}, cannot access it: ` +
        'allow access to its parent directories (chmod o+x)',
    );
  }
  return { folder, exists: true, account };
}

function locationFile(dataDir: string): string {
  return join(dataDir, 'postgres.location');
}
