import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Returns the path of a file. Files are distributed over 256 subdirectories to keep the directories small. */
export const pathOf = (folder: string, name: string): string => join(folder, name.slice(0, 2), name);

/** Reads a file, or returns null if it does not exist. */
export async function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return null;
    throw err;
  });
}

/** Writes a file atomically. If `durable` is true, the file also survives a power failure. */
export async function writeWhole(path: string, bytes: Buffer, { durable }: { durable: boolean }): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(unfinished, 'wx');
    try {
      await file.writeFile(bytes);
      if (durable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (err) {
    await rm(unfinished, { force: true });
    throw err;
  }
}
