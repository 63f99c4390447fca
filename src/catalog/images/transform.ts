import sharp, { type Sharp } from 'sharp';
import { AppError } from '../../platform/errors.ts';
import type { ImageType } from './accept.ts';
import type { Original } from './original.ts';
import type { Size } from './parameters.ts';

/** Pictures with more pixels, over all frames, are not worked on (count). */
const maxPixels = 50_000_000;

/** A transform that takes longer is given up (seconds). */
const timeoutS = 20;

/**
 * Small pictures are worth more effort: at 640×427, AVIF effort 2 takes 390 ms for 9.6 KB, effort 0 takes 90 ms for
 * 14.1 KB (2 cores).
 */
const smallPixels = 300_000;

/** Part of every ETag of a made picture: another encoder may write other bytes. */
export const encoderVersion = `1-${sharp.versions.sharp}-${sharp.versions.vips}`;

export const isProcessable = (size: Size): boolean => pixelsOf(size) <= maxPixels;

/** Whether the answer moves. An animation too large to work on as a whole is answered by its first frame. */
export const isAnimated = ({ frames, size }: Original, wanted: Size): boolean =>
  frames > 1 && size !== null && frames * Math.max(pixelsOf(size), pixelsOf(wanted)) <= maxPixels;

/**
 * A picture scaled to cover exactly `size`, cropped centred, in another type. Turned as its EXIF data says; no metadata
 * is kept.
 * @throws AppError image_not_processable when the original is broken; unavailable when it takes too long
 */
export async function transform(original: Original, size: Size, type: ImageType): Promise<Buffer> {
  const animated = isAnimated(original, size);
  const picture = sharp(original.bytes, { animated, limitInputPixels: maxPixels, failOn: 'error' })
    .autoOrient()
    .resize({ ...size, fit: 'cover', position: 'centre' })
    .timeout({ seconds: timeoutS });
  try {
    return await encode(picture, type, size).toBuffer();
  } catch (cause) {
    // A machine that is short of time says nothing about the picture.
    if (/timeout/i.test((cause as Error).message)) throw new AppError('unavailable', { retryAfterS: 5, cause });
    throw new AppError('image_not_processable', { cause });
  }
}

function encode(picture: Sharp, type: ImageType, size: Size): Sharp {
  switch (type) {
    case 'avif':
      return picture.avif({ quality: 55, effort: pixelsOf(size) <= smallPixels ? 2 : 0 });
    case 'webp':
      return picture.webp({ quality: 80, effort: 3 });
    case 'jpg':
      return picture.flatten({ background: '#ffffff' }).jpeg({ quality: 82, progressive: true });
    case 'png':
      return picture.png();
    case 'gif':
      return picture.gif();
  }
}

const pixelsOf = ({ width, height }: Size): number => width * height;
