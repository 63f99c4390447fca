import { hash } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../platform/logger.ts';
import { pathOf, readIfThere, writeWhole } from './files.ts';

/**
 * Disk cache for transformed images that do not fit into the memory cache. Its functions never fail: errors are treated
 * as cache misses.
 */
export type DiskCache = {
  get: (key: string) => Promise<Buffer | null>;
  set: (key: string, bytes: Buffer) => Promise<void>;
};

type Options = { folder: string; maxBytes: number; logger: Logger };

/**
 * Opens a disk cache of at most `maxBytes` in `folder`, with least-recently-used eviction. Files left by earlier
 * processes are reused, and the oldest are evicted first. Each process should use its own folder; a shared folder only
 * causes additional cache misses.
 * @returns null if the cache is disabled or the folder cannot be used; the latter is logged once
 */
export async function openDiskCache({ folder, maxBytes, logger }: Options): Promise<DiskCache | null> {
  if (maxBytes === 0) return null;
  const sizes = new LRUCache<string, number>({
    maxSize: maxBytes,
    sizeCalculation: (size) => size,
    dispose: (_size, name, reason) => {
      if (reason !== 'set') rm(pathOf(folder, name), { force: true }).catch(() => {});
    },
  });
  try {
    await mkdir(folder, { recursive: true });
    for (const { name, size } of await filesOf(folder)) sizes.set(name, Math.max(size, 1));
  } catch (err) {
    logger.warn({ err }, 'disk cache of images unavailable');
    return null;
  }
  return {
    get: async (key) => {
      const name = nameOf(key);
      if (sizes.get(name) === undefined) return null;
      return readIfThere(pathOf(folder, name)).catch(() => null);
    },
    set: async (key, bytes) => {
      const name = nameOf(key);
      if (bytes.length === 0 || bytes.length > maxBytes) return;
      try {
        await writeWhole(pathOf(folder, name), bytes, { durable: false });
        sizes.set(name, bytes.length);
      } catch (err) {
        logger.debug({ err }, 'writing image to disk cache failed');
      }
    },
  };
}

const nameOf = (key: string): string => hash('sha256', key, 'hex');

/** Lists the cached files, oldest first. Deletes temporary files left by killed processes. */
async function filesOf(folder: string): Promise<{ name: string; size: number }[]> {
  const files: { name: string; size: number; atMs: number }[] = [];
  for (const part of await readdir(folder)) {
    if (!/^[0-9a-f]{2}$/.test(part)) continue;
    for (const name of await readdir(join(folder, part))) {
      const path = join(folder, part, name);
      if (!/^[0-9a-f]{64}$/.test(name)) {
        if (name.endsWith('.tmp')) await rm(path, { force: true });
        continue;
      }
      const { size, mtimeMs } = await stat(path);
      files.push({ name, size, atMs: mtimeMs });
    }
  }
  return files.sort((a, b) => a.atMs - b.atMs);
}
