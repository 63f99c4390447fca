import { createHash } from 'node:crypto';
import type { ImageStoreSetting } from '../../config.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { createFolderStore } from './folder-store.ts';
import { createS3Store } from './s3-store.ts';

/**
 * Keeps originals under the SHA-256 of their bytes (hex), so that what is there never changes and equal pictures are
 * kept once.
 */
export type ImageStore = {
  /** Resolves when the bytes are safe; a repeat changes nothing. */
  put: (sha256: string, bytes: Buffer) => Promise<void>;
  /** null: there are none. Rejects when the store does not answer. */
  get: (sha256: string) => Promise<Buffer | null>;
};

/** @returns null where the database keeps the pictures */
export function createImageStore(setting: ImageStoreSetting): ImageStore | null {
  switch (setting.kind) {
    case 'database':
      return null;
    case 'folder':
      return createFolderStore(setting.path);
    case 's3':
      return createS3Store(setting);
  }
}

/**
 * Keeps the picture of a creative. The bytes are in the store before the row says so; a row that is rolled back leaves
 * them
 * there unused.
 */
export async function saveOriginal(
  executor: Executor,
  store: ImageStore | null,
  creativeId: number,
  bytes: Buffer,
): Promise<void> {
  const digest = createHash('sha256').update(bytes).digest();
  await store?.put(digest.toString('hex'), bytes);
  await executor.query({
    name: 'save_image',
    text: `insert into creative_images (creative_id, bytes, sha256) values ($1, $2, $3)
on conflict (creative_id) do update set bytes = excluded.bytes, sha256 = excluded.sha256`,
    values: [creativeId, store === null ? bytes : null, digest],
  });
}
