import { fstatSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createStorage } from '../../src/data-files/storage.ts';
import { createTestFolder } from './support.ts';

/** Inodes of files and folders in the order in which they were written to the disk. */
const synced: number[] = [];
let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  folder = await createTestFolder();
  const handle = await open(folder.path);
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  const { sync } = handles;
  vi.spyOn(handles, 'sync').mockImplementation(function (this: FileHandle) {
    synced.push(fstatSync(this.fd).ino);
    return sync.call(this);
  });
  await handle.close();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await folder?.remove();
});

const inodesOf = (paths: readonly string[]): Promise<number[]> =>
  Promise.all(paths.map(async (path) => (await stat(path)).ino));

test('a stored file survives a power loss: its content and its folders are on the disk', async () => {
  const path = join(folder.path, 'new', 'root');
  const storage = createStorage({ kind: 'folder', path });
  const file = 'events/date=2026-11-29/run.parquet';
  const above = [file, 'events/date=2026-11-29', 'events', '', '..', '../..'].map((name) => resolve(path, name));
  for (const top of [folder.path, path]) {
    synced.length = 0;
    await storage.put(file, Buffer.from('rows'));
    expect(synced).toEqual(await inodesOf(above.slice(0, above.indexOf(top) + 1)));
  }
});
