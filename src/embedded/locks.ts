import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOwnerAlive, ownerLine } from './processes.ts';

const pollMs = 50;
/**
 * Maximum time to wait for the lock, in milliseconds. It is longer than the lock can be held for a start (60 s) and a
 * stop (75 s) together.
 */
const lockWaitMs = 150_000;
/**
 * Age after which an empty lock file is considered stale, in milliseconds. Its process must have been killed before
 * writing to it.
 */
const unwrittenStaleMs = 5_000;

/**
 * Runs `work` under a lock that prevents other Perkwire processes from starting or stopping the server of this data
 * folder.
 */
export async function withStartLock<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  const file = join(dataDir, 'postgres.lock');
  const until = performance.now() + lockWaitMs;
  while (!(await createOnce(file, await ownerLine()))) {
    if (await isStale(file)) await removeStale(file);
    else if (performance.now() > until)
      throw new Error(`Another process has locked ${file} for over ${lockWaitMs / 1000} s`);
    else await sleep(pollMs);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

/**
 * Registers this process as a user of the server. The caller must hold the start lock.
 * @returns a function that removes the registration
 */
export async function attach(dataDir: string): Promise<() => Promise<void>> {
  const folder = join(dataDir, 'attached');
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${process.pid}.${randomBytes(4).toString('hex')}`);
  await writeFile(file, await ownerLine());
  return () => rm(file, { force: true });
}

/**
 * Whether any running process uses the server. Also removes the registrations of dead processes. The caller must hold
 * the start lock.
 */
export async function anyAttached(dataDir: string): Promise<boolean> {
  const folder = join(dataDir, 'attached');
  let isAttached = false;
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    if (await isOwnerAlive(await readFile(file, 'utf8'))) isAttached = true;
    else await rm(file, { force: true });
  }
  return isAttached;
}

async function createOnce(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
}

async function isStale(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  if (!text.endsWith('\n')) return (await ageMs(file)) > unwrittenStaleMs;
  return !(await isOwnerAlive(text));
}

/**
 * Removes a stale lock file. Two waiting processes may both find the lock stale, and the slower one could then remove
 * the new lock of the faster one. A second lock therefore lets only one process at a time check again and remove the
 * file.
 */
async function removeStale(file: string): Promise<void> {
  const guard = `${file}.stale`;
  if (!(await createOnce(guard, ''))) {
    if ((await ageMs(guard)) > unwrittenStaleMs) await rm(guard, { force: true });
    await sleep(pollMs);
    return;
  }
  try {
    if (await isStale(file)) await rm(file, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}

async function ageMs(file: string): Promise<number> {
  const stats = await stat(file).catch(() => undefined);
  return stats === undefined ? 0 : Date.now() - stats.mtimeMs;
}
