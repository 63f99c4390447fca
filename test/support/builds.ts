import { execFile } from 'node:child_process';
import { mkdir, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { withStartLock } from '../../src/embedded/locks.ts';
import { cacheFolder, isCurrent, readInputs, recordInputs, sourcesOf } from './inputs.ts';

const run = promisify(execFile);
const lockFolder = `${cacheFolder}/builds`;
const sdkRecord = `${lockFolder}/sdk.json`;
const sdkProgram = 'scripts/build-sdk.ts';
const sdkSources = ['src/browser/sdk', 'packages/client/src', 'package-lock.json'];

/**
 * Bundles the browser scripts into `dist/sdk`, unless no source has changed since.
 * @returns whether a build was made
 */
export function buildSdk(): Promise<boolean> {
  return oneAtATime(async () => {
    if (await isCurrent(sdkRecord, process.version)) return false;
    const inputs = await readInputs([...sdkSources, ...(await sourcesOf(sdkProgram))]);
    await runBuild('npm', ['run', '--silent', 'build:sdk']);
    await recordInputs(sdkRecord, process.version, { ...inputs, ...(await readInputs(['dist/sdk'])) });
    return true;
  });
}

/**
 * Builds everything like `npm start`, unless no source has changed since.
 * @returns whether a build was made
 */
export function buildAll(): Promise<boolean> {
  return oneAtATime(async () => {
    const before = await builtAtMs();
    await runBuild(process.execPath, ['scripts/prestart.js']);
    return (await builtAtMs()) !== before;
  });
}

/** Serialises builds, because test runs on one checkout write the same files. */
async function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
  await mkdir(lockFolder, { recursive: true });
  return withStartLock(lockFolder, work);
}

async function runBuild(program: string, args: string[]): Promise<void> {
  await run(program, args).catch((err: Error & { stdout: string; stderr: string }) => {
    throw new Error(`the build failed:\n${err.stdout}${err.stderr}`, { cause: err });
  });
}

async function builtAtMs(): Promise<number> {
  return (await stat('dist/.built').catch(() => null))?.mtimeMs ?? 0;
}
