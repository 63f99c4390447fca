import sharp from 'sharp';
import { AppError } from '../platform/errors.ts';
import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { createLimiter } from '../platform/lib/fair-limiter.ts';
import type { Choice, FormBuilder } from '../shell/forms.ts';
import type { ImageType } from './images/accept.ts';
import { drawSvg } from './images/draw.ts';
import { stripMetadata } from './images/metadata.ts';
import type { Size } from './images/parameters.ts';

/** Content types of uploads, for the `accept` attribute. */
export const pictureTypes = 'image/png,image/jpeg,image/webp,image/svg+xml';

/** Name of the form field for the file. */
export const imageField = 'image';

/** Upload field for the first picture of a new offer. */
export const firstImageField = (form: FormBuilder): Html =>
  form.custom(
    imageField,
    t('offers.firstImage'),
    html`
      <div class="label"><label for="f-first-image">${t('offers.firstImage')}</label></div>
      <input type="file" id="f-first-image" name="${imageField}" accept="${pictureTypes}"
        aria-describedby="f-first-image-hint">
      <p class="hint" id="f-first-image-hint">${t('offers.firstImageHint')}</p>`,
  );

/** Types of creatives to choose from. */
export const creativeTypes = (): Choice[] => [
  { value: 'offer_image', text: t('offers.offerImage') },
  { value: 'hero_image', text: t('offers.heroImage') },
  { value: 'icon_image', text: t('offers.iconImage') },
];

/** An uploaded picture as it will be stored. */
export type Upload = { bytes: Buffer; type: ImageType; size: Size };

/** Maximum size of a picture (bytes). */
export const maxUploadBytes = 5 * 1024 * 1024;
/** Maximum width or height (pixels). */
const maxSide = 20_000;
/** Maximum number of pixels in a frame. Larger pictures could not be resized later. */
const maxPixels = 50_000_000;
/** Maximum processing time of one picture (seconds). */
const timeoutS = 10;

const names = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp', svg: 'image/svg+xml' } as const;
type Kind = keyof typeof names;

/** Processes one upload at a time, because a crafted upload can take seconds of CPU time. */
const inTurn = createLimiter({
  maxConcurrent: 1,
  maxWaitingPerClient: 16,
  message: 'Too many pictures are being made.',
});

const refused = (message: string, cause?: unknown): AppError =>
  new AppError('invalid_picture', {
    details: [{ path: '/image', message }],
    ...(cause === undefined ? {} : { cause }),
  });

/**
 * Validates a picture by its content and measures it as displayed, after the rotation of its EXIF data. Drawings (SVG)
 * become PNG files, without external resources and scripts. Camera metadata, such as the location, is removed.
 * @param declared content type sent by the client; empty or application/octet-stream if it does not know the type
 * @throws AppError invalid_picture with the reason; body_too_large; unavailable if too many uploads are waiting
 */
export async function readUpload(bytes: Buffer, declared: string): Promise<Upload> {
  requireBytes(bytes);
  const kind = kindOf(bytes);
  if (kind === null) throw refused('is no picture of a type that can be used: PNG, JPEG, WebP or SVG');
  const declaredType = declared.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isNamed = declaredType !== '' && declaredType !== 'application/octet-stream';
  if (isNamed && declaredType !== names[kind] && !(kind === 'jpg' && declaredType === 'image/jpg'))
    throw refused(`is declared as ${declaredType.slice(0, 60)}, but holds ${names[kind]}`);
  if (kind === 'svg' && /<!ENTITY/i.test(bytes.toString('latin1')))
    throw refused('is a drawing that declares entities, which is not taken');
  return inTurn(() => readPixels(bytes, kind));
}

/** Detects the image type from its magic bytes. */
function kindOf(bytes: Buffer): Kind | null {
  if (bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return 'png';
  if (bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'jpg';
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'webp';
  const head = bytes.toString('utf8', 0, 16_384);
  return /^\uFEFF?\s*</.test(head) && /<svg[\s>]/.test(head) ? 'svg' : null;
}

const readPixels = (bytes: Buffer, kind: Kind): Promise<Upload> =>
  kind === 'svg' ? readDrawing(bytes) : readPhoto(bytes, kind);

async function readDrawing(bytes: Buffer): Promise<Upload> {
  const drawn = await drawSvg(bytes, { maxSide, maxPixels, maxBytes: maxUploadBytes, timeoutMs: timeoutS * 1000 });
  if ('tooLarge' in drawn) requireSize(drawn.tooLarge);
  if ('png' in drawn) {
    const { width, height } = await measure(drawn.png);
    return { bytes: drawn.png, type: 'png', size: { width, height } };
  }
  const problem = 'problem' in drawn ? drawn.problem : 'broken';
  if (problem === 'slow') throw refused(`is a drawing that takes more than ${timeoutS} seconds to draw`);
  if (problem === 'heavy') throw refused('is a drawing that becomes a picture of more than 5 MB');
  throw refused('is broken: it cannot be drawn');
}

async function readPhoto(bytes: Buffer, kind: Exclude<Kind, 'svg'>): Promise<Upload> {
  // This comes first because it limits the number of parts; the other readers do not.
  const upright = stripMetadata(bytes, kind, 1);
  if (upright === null) throw refused('is broken: it is not built as its type demands');
  const { width, height, orientation } = await measure(bytes);
  requireSize({ width, height });
  const stored = orientation > 1 ? (stripMetadata(bytes, kind, orientation) ?? upright) : upright;
  requireBytes(stored); // the new EXIF orientation adds bytes
  try {
    // A valid header may be followed by broken data, so every row is decoded once.
    const picture = sharp(stored, { limitInputPixels: maxPixels, failOn: 'error' }).timeout({ seconds: timeoutS });
    await picture.resize(32, 32, { fit: 'inside' }).raw().toBuffer();
  } catch (err) {
    throw refused('is broken: it cannot be read to its end', err);
  }
  return { bytes: stored, type: kind, size: { width, height } };
}

/**
 * Checks the file size.
 * @throws AppError body_too_large
 */
function requireBytes(bytes: Buffer): void {
  if (bytes.length > maxUploadBytes)
    throw new AppError('body_too_large', { message: 'A picture may have at most 5 MB.' });
}

/**
 * Checks the dimensions.
 * @throws AppError invalid_picture if a side is too long, or there are too many pixels
 */
function requireSize({ width, height }: Size): void {
  if (width > maxSide || height > maxSide)
    throw refused(`is ${width} by ${height} pixels; a side may have at most ${maxSide}`);
  if (width * height > maxPixels)
    throw refused(`is ${width} by ${height} pixels, more than ${maxPixels / 1e6} million in all`);
}

async function measure(bytes: Buffer): Promise<Size & { orientation: number }> {
  try {
    const { autoOrient, orientation = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return { ...autoOrient, orientation };
  } catch (err) {
    throw refused('is broken: it cannot be read', err);
  }
}
