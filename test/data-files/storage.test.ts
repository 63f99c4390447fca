import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createStorage } from '../../src/data-files/storage.ts';
import { createTestFolder } from './support.ts';

/** Files and folders in the order in which they were written to the disk. */
const synced: string[] = [];
vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const open = async (...args: Parameters<typeof original.open>): Promise<FileHandle> => {
    const handle = await original.open(...args);
    const sync = handle.sync.bind(handle);
    handle.sync = () => {
      synced.push(String(args[0]));
      return sync();
    };
    return handle;
  };
  return { ...original, open };
});

let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  folder = await createTestFolder();
});
afterAll(() => folder?.remove());

test('a stored file survives a power loss: its content and its folders are on the disk', async () => {
  const path = join(folder.path, 'new', 'root');
  const storage = createStorage({ kind: 'folder', path });
  for (const top of [folder.path, path]) {
    synced.length = 0;
    await storage.put('events/date=2026-11-29/run.parquet', Buffer.from('rows'));
    const [file, ...folders] = synced;
    expect(file).toContain(join(path, 'events/date=2026-11-29/run.parquet'));
    const above = ['events/date=2026-11-29', 'events', '', '..', '../..'].map((name) => resolve(path, name));
    expect(folders).toEqual(above.slice(0, above.indexOf(top) + 1));
  }
});
