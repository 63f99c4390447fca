import { hash } from 'node:crypto';
import sharp from 'sharp';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { ImageType } from './accept.ts';
import type { ImageStore } from './image-store.ts';
import type { Size } from './parameters.ts';

/** A picture as uploaded. The bytes of an id never change. */
export type Original = {
  bytes: Buffer;
  /** SHA-256 of the bytes (hex). */
  sha256: string;
  type: ImageType;
  /** Size as displayed, after the rotation of its EXIF data. Null if the bytes are not a readable picture. */
  size: Size | null;
  /** Number of frames; 1 for a still picture. */
  frames: number;
};

/** Row of a picture; `bytes` is null if the image store has them. */
export type StoredPicture = { bytes: Buffer | null; sha256: string };

/** Returns the stored picture of a creative, or null if there is none with that id and type. */
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
 * Loads the bytes of a picture and measures it. Bytes from the image store are checked against their digest.
 * @throws AppError unavailable if the image store does not return them
 */
export async function completeOriginal(
  { bytes, sha256 }: StoredPicture,
  type: ImageType,
  store: ImageStore | null,
): Promise<Original> {
  const content = bytes ?? (await fetchBytes(sha256, store));
  return { bytes: content, sha256, type, ...(await measure(content)) };
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
 * Names in libvips of the types that a creative can have. Other formats that it reads, such as drawings and documents,
 * are not transformed.
 */
const rasterFormats: ReadonlySet<string> = new Set(['heif', 'webp', 'png', 'jpeg', 'gif']);

/** Reads the dimensions from the header, without decoding the pixels. */
async function measure(bytes: Buffer): Promise<{ size: Size | null; frames: number }> {
  try {
    const { autoOrient, format, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return { size: rasterFormats.has(format) ? autoOrient : null, frames: pages };
  } catch {
    return { size: null, frames: 1 };
  }
}
