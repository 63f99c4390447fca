import { hash } from 'node:crypto';
import sharp from 'sharp';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { ImageType } from './accept.ts';
import type { ImageStore } from './image-store.ts';
import type { Size } from './parameters.ts';

/** Image as it was uploaded. The bytes for an ID never change. */
export type Original = {
  bytes: Buffer;
  /** SHA-256 of the image bytes (hex). */
  sha256: string;
  type: ImageType;
  /** Displayed size after EXIF rotation, or null if the bytes are not a readable image. */
  size: Size | null;
  /** Number of frames, or 1 for a still image. */
  frames: number;
};

/** Database row of an image. `bytes` is null if the bytes are in the image store. */
export type StoredImage = { bytes: Buffer | null; sha256: string };

/** Returns the stored image of a creative, or null if the creative has no image of that type. */
export async function findImage(executor: Executor, id: number, type: ImageType): Promise<StoredImage | null> {
  const { rows } = await executor.query<StoredImage>({
    name: 'load_image',
    text: `select i.bytes, encode(i.sha256, 'hex') as sha256
from creative_images i join creatives c on c.id = i.creative_id where c.id = $1 and c.type = $2`,
    values: [id, type],
  });
  return rows[0] ?? null;
}

/**
 * Loads the bytes of an image and measures it. Bytes from the image store are verified against their SHA-256.
 * @throws AppError unavailable if the image store does not return the bytes
 */
export async function completeOriginal(
  { bytes, sha256 }: StoredImage,
  type: ImageType,
  store: ImageStore | null,
): Promise<Original> {
  const content = bytes ?? (await fetchBytes(sha256, store));
  return { bytes: content, sha256, type, ...(await measure(content)) };
}

async function fetchBytes(sha256: string, store: ImageStore | null): Promise<Buffer> {
  const unavailable = (cause: unknown): AppError => new AppError('unavailable', { retryAfterS: 5, cause });
  if (store === null)
    throw unavailable(new Error('the image is stored outside the database, but IMAGE_STORE is not set'));
  const bytes = await store.get(sha256).catch((err: unknown) => {
    throw unavailable(err);
  });
  if (bytes === null) throw unavailable(new Error('the image is missing in the image store'));
  if (hash('sha256', bytes, 'hex') !== sha256) throw unavailable(new Error('the image was changed in the image store'));
  return bytes;
}

/**
 * libvips names of the image types that a creative can have. Other formats that libvips can read, such as SVG and PDF,
 * are not transformed.
 */
const rasterFormats: ReadonlySet<string> = new Set(['heif', 'webp', 'png', 'jpeg', 'gif']);

/** Reads the dimensions from the image header, without decoding the pixels. */
async function measure(bytes: Buffer): Promise<{ size: Size | null; frames: number }> {
  try {
    const { autoOrient, format, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return { size: rasterFormats.has(format) ? autoOrient : null, frames: pages };
  } catch {
    return { size: null, frames: 1 };
  }
}
