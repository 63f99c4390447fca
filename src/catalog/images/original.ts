import { hash } from 'node:crypto';
import sharp from 'sharp';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { ImageType } from './accept.ts';
import type { ImageStore } from './image-store.ts';
import type { Size } from './parameters.ts';

/** A picture as it was uploaded; its bytes never change under one id. */
export type Original = {
  bytes: Buffer;
  /** Hex. */
  sha256: string;
  type: ImageType;
  /** As displayed: after the rotation in its EXIF data. Null: the bytes are not a readable picture. */
  size: Size | null;
  /** Frames of an animation; 1 for a still. */
  frames: number;
};

/** The row of a picture; `bytes` null: the image store keeps them. */
export type StoredPicture = { bytes: Buffer | null; sha256: string };

/** The stored picture of a creative, or null where the service keeps none of that id and type. */
export async function findPicture(executor: Executor, id: number, type: ImageType): Promise<StoredPicture | null> {
  const { rows } = await executor.query<StoredPicture>({
    name: 'load_image',
    text: `select i.bytes, encode(i.sha256, 'hex') as sha256
from creative_images i join creatives c on c.id = i.creative_id where c.id = $1 and c.type = $2`,
    values: [id, type],
  });
  return rows[0] ?? null;
}

/**
 * The picture with its bytes, measured.
 * Errors: unavailable when the image store does not return them. The digest of fetched bytes is checked.
 */
export async function completeOriginal(
  { bytes, sha256 }: StoredPicture,
  type: ImageType,
  store: ImageStore | null,
): Promise<Original> {
  const found = bytes ?? (await fetchBytes(sha256, store));
  return { bytes: found, sha256, type, ...(await measure(found)) };
}

async function fetchBytes(sha256: string, store: ImageStore | null): Promise<Buffer> {
  const unavailable = (cause: unknown): AppError => new AppError('unavailable', { retryAfterS: 5, cause });
  if (store === null)
    throw unavailable(new Error('the picture is kept outside the database, and IMAGE_STORE is not set'));
  const bytes = await store.get(sha256).catch((err: unknown) => {
    throw unavailable(err);
  });
  if (bytes === null) throw unavailable(new Error('the picture is missing in the image store'));
  if (hash('sha256', bytes, 'hex') !== sha256)
    throw unavailable(new Error('the picture was changed in the image store'));
  return bytes;
}

/**
 * What libvips calls the types a creative can have; its further formats, such as drawings and documents, are not worked
 * on.
 */
const rasterFormats: ReadonlySet<string> = new Set(['heif', 'webp', 'png', 'jpeg', 'gif']);

/** Reads the head of a picture, not its pixels. */
async function measure(bytes: Buffer): Promise<{ size: Size | null; frames: number }> {
  try {
    const { autoOrient, format, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return { size: rasterFormats.has(format) ? autoOrient : null, frames: pages };
  } catch {
    return { size: null, frames: 1 };
  }
}
