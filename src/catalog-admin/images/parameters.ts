import { type Static, Type } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import { integerParameter } from '../../platform/http/schemas.ts';
import { problem } from '../../platform/problem.ts';

/** Maximum width or height that can be requested, in pixels. */
const maxSide = 4096;

const side = (name: string) =>
  integerParameter(
    { minimum: 1, maximum: maxSide },
    { pattern: '^[1-9][0-9]{0,3}$', description: `${name} in pixels, 1 to ${maxSide}.` },
  );

/**
 * Query parameters of an image request (docs/reference/themes-and-rendering.md#images). All values are strings.
 * Repeating a parameter is invalid.
 */
export const imageQuery = Type.Object({
  width: side('Width'),
  height: side('Height'),
  aspect_ratio: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]?|100):([1-9][0-9]?|100)$',
      description:
        'Width to height, such as `16:9`, each from 1 to 100. The image is cropped to this ratio around its ' +
        'centre.',
    }),
  ),
});

export type ImageQuery = Static<typeof imageQuery>;

export type Size = { width: number; height: number };

/** Requested dimensions. Null means not specified. */
export type RequestedImage = { width: number | null; height: number | null; aspectRatio: Size | null };

/**
 * Parses the query parameters.
 * @throws AppError invalid_request if the width or height exceeds 4096; the schema rejects all other errors
 */
export function readImageQuery({ width, height, aspect_ratio }: ImageQuery): RequestedImage {
  const [x, y] = aspect_ratio?.split(':').map(Number) ?? [];
  return {
    width: readSide('width', width),
    height: readSide('height', height),
    aspectRatio: x === undefined || y === undefined ? null : { width: x, height: y },
  };
}

function readSide(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (value <= maxSide) return value;
  throw new AppError('invalid_request', {
    details: [{ path: `/querystring/${name}`, message: problem('sideAtMost', { max: maxSide }) }],
  });
}

/**
 * Computes the dimensions of the response image, in whole pixels and at least 1×1. If both width and height are
 * requested, the image has exactly these dimensions, enlarged if necessary, and `aspect_ratio` is ignored. Otherwise,
 * it is the largest frame with the requested ratio that fits inside the original, scaled down to the requested width or
 * height but never enlarged.
 */
export function planSize(original: Size, { width, height, aspectRatio }: RequestedImage): Size {
  if (width !== null && height !== null) return { width, height };
  const frame = aspectRatio === null ? original : frameInside(original, aspectRatio);
  const ratio = aspectRatio ?? original;
  if (width !== null && width < frame.width) return { width, height: atLeastOne((width * ratio.height) / ratio.width) };
  if (height !== null && height < frame.height)
    return { width: atLeastOne((height * ratio.width) / ratio.height), height };
  return frame;
}

/** Returns the largest frame with the given aspect ratio that fits into an image. */
function frameInside(image: Size, ratio: Size): Size {
  return image.width * ratio.height > image.height * ratio.width
    ? { width: atLeastOne((image.height * ratio.width) / ratio.height), height: image.height }
    : { width: image.width, height: atLeastOne((image.width * ratio.height) / ratio.width) };
}

const atLeastOne = (length: number): number => Math.max(1, Math.round(length));
