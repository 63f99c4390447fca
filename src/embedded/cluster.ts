import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Account, runProgram } from './account.ts';
import { type Binaries, findBinaryPackage, prepareBinaries } from './binaries.ts';
import { type ClusterLocation, findLocation, recordLocation } from './location.ts';

/** Name of both the database and its owner role. */
export const databaseName = 'perkwire';

/** Information needed to start, find and stop the server of a data folder. */
export interface Cluster {
  folder: string;
  logFile: string;
  account: Account | undefined;
  binaries: Binaries;
  password: string;
  /** PostgreSQL server settings, as `name=value`. */
  flags: string[];
  log: (details: object, message: string) => void;
}

export interface ClusterOptions {
  dataDir: string;
  flags: string[];
  log: (details: object, message: string) => void;
}

/** Opens the database cluster in the data folder, creating it if necessary. The caller must hold the start lock. */
export async function openCluster({ dataDir, flags, log }: ClusterOptions): Promise<Cluster> {
  const location = await findLocation(dataDir);
  const binaries = await prepareBinaries(await findBinaryPackage(), location.account);
  const password = await clusterPassword(dataDir, location);
  const logFile = join(dataDir, 'postgres.log');
  const cluster: Cluster = {
    folder: location.folder,
    logFile,
    account: location.account,
    binaries,
    password,
    flags,
    log,
  };
  if (!location.exists) {
    await removeAbandoned(location.folder);
    await initialise(cluster);
    await recordLocation(dataDir, location, log);
  }
  return cluster;
}

async function clusterPassword(dataDir: string, location: ClusterLocation): Promise<string> {
  const file = join(dataDir, 'postgres-password');
  const stored = await readFile(file, 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return '';
    throw err;
  });
  if (stored.endsWith('\n')) return stored.trim();
  if (location.exists)
    throw new Error(`The password of the database in ${location.folder} is missing: restore ${file}`);
  const password = randomBytes(24).toString('base64url');
  await rm(file, { force: true });
  await writeFile(file, `${password}\n`, { mode: 0o600, flush: true });
  return password;
}

const initdbOptions = [
  `--username=${databaseName}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // The C locale sorts by bytes, so the order is the same on every system. The builtin provider still maps case beyond
  // ASCII.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
  // Skipping fsync is safe here: if the power fails before the files are on disk, only a newly created, empty database
  // is lost.
  '--no-sync',
];

/** Runs initdb in a temporary folder and renames it, so that an interruption leaves no incomplete cluster. */
async function initialise({ folder, account, binaries, password }: Cluster): Promise<void> {
  const staging = `${folder}.init-${randomBytes(4).toString('hex')}`;
  const passwordFile = join(staging, 'password');
  await mkdir(staging, { mode: 0o700 });
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (account !== undefined) for (const path of [passwordFile, staging]) await chown(path, account.uid, account.gid);
    await runProgram(
      binaries.initdb,
      ['-D', join(staging, 'data'), `--pwfile=${passwordFile}`, ...initdbOptions],
      account,
    );
    await rename(join(staging, 'data'), folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  const parent = dirname(folder);
  for (const name of await readdir(parent)) {
    // Removes folders of interrupted initdb runs. If a leftover initdb is still writing to its folder, a later start
    // removes that folder.
    if (/^postgres\.init-[0-9a-f]{8}$/.test(name))
      await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}
