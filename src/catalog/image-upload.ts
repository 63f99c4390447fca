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

/** Content types of files that a form takes. */
export const pictureTypes = 'image/png,image/jpeg,image/webp,image/svg+xml';

/** Name of the field of a file. */
export const imageField = 'image';

/** The first picture of a new offer. */
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

/** What a picture may be for. */
export const creativeTypes = (): Choice[] => [
  { value: 'offer_image', text: t('offers.offerImage') },
  { value: 'hero_image', text: t('offers.heroImage') },
  { value: 'icon_image', text: t('offers.iconImage') },
];

/** A picture that was handed in, as it will be kept. */
export type Upload = { bytes: Buffer; type: ImageType; size: Size };

/** The largest picture (bytes). */
export const maxUploadBytes = 5 * 1024 * 1024;
/** The longest side (pixels). */
const maxSide = 20_000;
/** Of one frame (count); beyond it nothing could be resized later. */
const maxPixels = 50_000_000;
/** The longest that one may be worked on (seconds). */
const timeoutS = 10;

const names = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp', svg: 'image/svg+xml' } as const;
type Kind = keyof typeof names;

/** One at a time: an upload may be made to cost seconds, and there is other work to do. */
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
 * Checks a picture by its content and measures it, as it is seen: after the turn its EXIF data asks for. A drawing
 * (SVG) becomes a PNG; what it refers to outside of itself is not loaded, and scripts in it are not run. What a camera
 * wrote beside the pixels, such as where it stood, is taken out.
 * @param declared content type that the client names; empty or application/octet-stream: it names none
 * @throws AppError invalid_picture with the reason; body_too_large; unavailable when too many wait
 */
export async function readUpload(bytes: Buffer, declared: string): Promise<Upload> {
  requireBytes(bytes);
  const kind = kindOf(bytes);
  if (kind === null) throw refused('is no picture of a type that can be used: PNG, JPEG, WebP or SVG');
  const named = declared.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isNamed = named !== '' && named !== 'application/octet-stream';
  if (isNamed && named !== names[kind] && !(kind === 'jpg' && named === 'image/jpg'))
    throw refused(`is declared as ${named.slice(0, 60)}, but holds ${names[kind]}`);
  if (kind === 'svg' && /<!ENTITY/i.test(bytes.toString('latin1')))
    throw refused('is a drawing that declares entities, which is not taken');
  return inTurn(() => readPixels(bytes, kind));
}

/** What the first bytes say. */
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
  // First, for what else reads it has no limit of parts.
  const upright = stripMetadata(bytes, kind, 1);
  if (upright === null) throw refused('is broken: it is not built as its type demands');
  const { width, height, orientation } = await measure(bytes);
  requireSize({ width, height });
  const kept = orientation > 1 ? (stripMetadata(bytes, kind, orientation) ?? upright) : upright;
  requireBytes(kept); // what says how it is turned may be new
  try {
    // A head that looks right may be followed by nothing: every row of what is kept is read once.
    const picture = sharp(kept, { limitInputPixels: maxPixels, failOn: 'error' }).timeout({ seconds: timeoutS });
    await picture.resize(32, 32, { fit: 'inside' }).raw().toBuffer();
  } catch (err) {
    throw refused('is broken: it cannot be read to its end', err);
  }
  return { bytes: kept, type: kind, size: { width, height } };
}

/** @throws AppError body_too_large */
function requireBytes(bytes: Buffer): void {
  if (bytes.length > maxUploadBytes)
    throw new AppError('body_too_large', { message: 'A picture may have at most 5 MB.' });
}

/** @throws AppError invalid_picture where a side is too long, or there are too many pixels */
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
