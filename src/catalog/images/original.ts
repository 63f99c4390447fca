import { hash } from 'node:crypto';
import sharp from 'sharp';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { ImageType } from './accept.ts';
import type { Size } from './parameters.ts';
import type { ImageStore } from './store.ts';

/** A picture as it was uploaded; its bytes never change under one id. */
export type Original = {
  bytes: Buffer;
  /** Hex. */
  sha256: string;
  type: ImageType;
  /** As it is seen: after the turn its EXIF data asks for. Null: the bytes are no picture that can be read. */
  size: Size | null;
  /** Frames of an animation; 1 for a still. */
  frames: number;
};

/** What the database knows of a picture; `bytes` null: the store keeps them. */
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
 * Errors: unavailable where they are kept elsewhere and cannot be had from there. Of those it had to fetch, the digest
 * is checked.
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
  const away = (cause: unknown): AppError => new AppError('unavailable', { retryAfterS: 5, cause });
  if (store === null) throw away(new Error('the picture is kept outside the database, and IMAGE_STORE names no place'));
  const bytes = await store.get(sha256).catch((err: unknown) => {
    throw away(err);
  });
  if (bytes === null) throw away(new Error('the picture is missing in the place IMAGE_STORE names'));
  if (hash('sha256', bytes, 'hex') !== sha256)
    throw away(new Error('the picture was changed in the place IMAGE_STORE names'));
  return bytes;
}

/**
 * What libvips calls the types a creative can have; its further formats, such as drawings and documents, are not worked
 * on.
 */
const rasterFormats: ReadonlySet<string> = new Set(['heif', 'webp', 'png', 'jpeg', 'gif']);

/** Reads the head of a picture, not its pixels. */
async function measure(bytes: Buffer): Promise<Pick<Original, 'size' | 'frames'>> {
  try {
    const { autoOrient, format, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return { size: rasterFormats.has(format) ? autoOrient : null, frames: pages };
  } catch {
    return { size: null, frames: 1 };
  }
}
