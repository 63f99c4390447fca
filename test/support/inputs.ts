import { createHash, type Hash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

/** What runs keep for the next one; safe to delete. */
export const cacheFolder = 'node_modules/.cache/perkwire-tests';

/** What something was made of: files and folders by path, each with the SHA-256 of its content; null: missing. */
export type Inputs = Record<string, string | null>;

/** The inputs as they are now. */
export async function readInputs(paths: readonly string[]): Promise<Inputs> {
  const hashes = paths.map(async (path): Promise<[string, string | null]> => {
    const hash = createHash('sha256');
    return [path, (await addPath(hash, path)) ? hash.digest('base64url') : null];
  });
  return Object.fromEntries(await Promise.all(hashes));
}

/** Notes what something was made of, as it was before that; `reason`: whatever else it depends on. */
export async function recordInputs(file: string, reason: string, inputs: Inputs): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, JSON.stringify({ reason, inputs }));
  await rename(draft, file);
}

/** Whether all that was recorded is still the same, to the byte. */
export async function isCurrent(file: string, reason: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return false;
  const recorded = JSON.parse(text) as { reason: string; inputs: Inputs };
  if (recorded.reason !== reason) return false;
  const now = await readInputs(Object.keys(recorded.inputs));
  return Object.entries(recorded.inputs).every(([path, hash]) => now[path] === hash);
}

/** The files of this repository that a program consists of: its own and all that it imports. */
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

/** A folder stands for the names and the content of all that is in it. @returns whether there is such a path */
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
