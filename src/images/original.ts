import sharp from 'sharp';
import type { Executor } from '../db/pool.ts';
import type { ImageType } from './accept.ts';
import type { Size } from './parameters.ts';

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

/** The stored picture of a creative, or null where the service keeps none of that id and type. */
export async function loadOriginal(executor: Executor, id: number, type: ImageType): Promise<Original | null> {
  const { rows } = await executor.query<{ bytes: Buffer; sha256: string }>({
    name: 'load_image',
    text: `select i.bytes, encode(i.sha256, 'hex') as sha256
from creative_images i join creatives c on c.id = i.creative_id where c.id = $1 and c.type = $2`,
    values: [id, type],
  });
  const [row] = rows;
  return row === undefined ? null : { ...row, type, ...(await measure(row.bytes)) };
}

/** What libvips calls the types a creative can have; its further formats, such as drawings and documents, are not worked on. */
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
