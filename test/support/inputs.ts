import { createHash, type Hash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Folder for files that are cached for later runs. It is safe to delete. */
export const cacheFolder = 'node_modules/.cache/perkwire-tests';

/** Build inputs: files and folders by path, with the SHA-256 of their content, or null if missing. */
export type Inputs = Record<string, string | null>;

/** Returns the current inputs. */
export async function readInputs(paths: readonly string[]): Promise<Inputs> {
  const hashes = paths.map(async (path): Promise<[string, string | null]> => {
    const hash = createHash('sha256');
    return [path, (await addPath(hash, path)) ? hash.digest('base64url') : null];
  });
  return Object.fromEntries(await Promise.all(hashes));
}

/**
 * Records the inputs from which something was built, as they were before the build. `reason` describes everything else
 * that it depends on.
 */
export async function recordInputs(file: string, reason: string, inputs: Inputs): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, JSON.stringify({ reason, inputs }));
  await rename(draft, file);
}

/** Returns whether all recorded inputs are unchanged, to the byte. */
export async function isCurrent(file: string, reason: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return false;
  const recorded = JSON.parse(text) as { reason: string; inputs: Inputs };
  if (recorded.reason !== reason) return false;
  const now = await readInputs(Object.keys(recorded.inputs));
  return Object.entries(recorded.inputs).every(([path, hash]) => now[path] === hash);
}

/** Returns the files in this repository that a program consists of: its own file and all imports. */
export async function sourcesOf(program: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [program],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  return Object.keys(metafile.inputs);
}

/**
 * Adds a file, or the names and contents of all files in a folder, to a hash.
 * @returns whether the path exists
 */
async function addPath(hash: Hash, path: string): Promise<boolean> {
  try {
    hash.update(await readFile(path));
    return true;
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code !== 'EISDIR') throw err;
  }
  for (const name of (await readdir(path)).sort()) {
    hash.update(`${name}\0`);
    await addPath(hash, join(path, name));
  }
  return true;
}
