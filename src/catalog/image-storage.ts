import { createHash } from 'node:crypto';
import type { ImageStoreSetting } from '../config.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import { createFolderStore } from './images/folder-store.ts';
import type { ImageStore } from './images/image-store.ts';
import { createS3Store } from './images/s3-store.ts';

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
 * Stores the picture of a creative. The bytes are in the image store before the row names them; a rolled back row
 * leaves them there unused.
 * @throws AppError unavailable when the image store does not take them
 */
export async function saveOriginal(
  executor: Executor,
  store: ImageStore | null,
  creativeId: number,
  bytes: Buffer,
): Promise<void> {
  const digest = createHash('sha256').update(bytes).digest();
  await store?.put(digest.toString('hex'), bytes).catch((cause: unknown) => {
    throw new AppError('unavailable', {
      message: 'The image store is temporarily unavailable.',
      retryAfterS: 5,
      cause,
    });
  });
  await executor.query({
    name: 'save_image',
    text: `insert into creative_images (creative_id, bytes, sha256) values ($1, $2, $3)
on conflict (creative_id) do update set bytes = excluded.bytes, sha256 = excluded.sha256`,
    values: [creativeId, store === null ? bytes : null, digest],
  });
}
