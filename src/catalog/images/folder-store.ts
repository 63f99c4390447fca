import { pathOf, readIfThere, writeWhole } from './files.ts';
import type { ImageStore } from './image-store.ts';

/** Originals as files below a folder; several processes may share it. */
export const createFolderStore = (folder: string): ImageStore => ({
  put: async (sha256, bytes) => {
    const path = pathOf(folder, sha256);
    const present = await readIfThere(path);
    if (present === null || !present.equals(bytes)) await writeWhole(path, bytes, { durable: true });
  },
  get: (sha256) => readIfThere(pathOf(folder, sha256)),
});
