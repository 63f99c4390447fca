import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withStartLock } from '../../src/embedded/locks.ts';
import { cacheFolder, isCurrent, readInputs, recordInputs, sourcesOf } from './inputs.ts';

const folder = `${cacheFolder}/template`;
const record = join(folder, 'template.json');
const dataFolder = join(folder, 'data');
const program = 'test/support/make-template.ts';
const data = ['migrations', 'demo', 'packages/client/src', 'package-lock.json'];

/** Files of one particular server, which a copy must not treat as its own. */
const ofOneServer = ['attached', 'postgres.lock', 'postgres.log'];

/**
 * Puts the data of a stopped PostgreSQL with the template database into an empty folder. The data is cached for later
 * runs until the day ends (because of its daily partitions) or one of its inputs changes.
 * @returns whether the data was created anew
 */
export async function putTemplate(dataDir: string): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  return withStartLock(folder, async () => {
    const reason = [new Date().toISOString().slice(0, 10), process.platform, process.arch, process.getuid?.()].join();
    if (await isCurrent(record, reason)) {
      await copy(dataFolder, dataDir);
      return false;
    }
    const inputs = await readInputs([...data, ...(await sourcesOf(program))]);
    const { makeTemplate } = await import('./make-template.ts');
    await makeTemplate(dataDir);
    await rm(record, { force: true });
    await rm(dataFolder, { recursive: true, force: true });
    // When run as root, the cluster may have been created elsewhere, in a folder that the database account can access.
    if (!existsSync(join(dataDir, 'postgres.location'))) {
      await copy(dataDir, dataFolder);
      await recordInputs(record, reason, inputs);
    }
    return true;
  });
}

/**
 * Copies two thousand small files with an external program. Copying in Node.js would take ten times as long and would
 * block this process, which has to serve modules in the meantime.
 */
async function copy(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  if (process.platform === 'win32') await cp(from, to, { recursive: true });
  else await promisify(execFile)('cp', ['-R', `${from}/.`, to]);
  for (const name of ofOneServer) await rm(join(to, name), { recursive: true, force: true });
}
