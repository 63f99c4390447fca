import { createHash, hash } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import sharp from 'sharp';
import type { ImageStoreSetting } from '../config.ts';
import type { Values } from '../management/resource.ts';
import { createBucketClient } from '../platform/bucket.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { createLimiter } from '../platform/lib/fair-limiter.ts';
import { type Problem, problem } from '../platform/problem.ts';
import type { Choice, FormBuilder } from '../shell/forms.ts';
import type { ImageType } from './images/accept.ts';
import { drawSvg } from './images/draw.ts';
import { pathOf, readIfThere, writeWhole } from './images/files.ts';
import type { ImageStore } from './images/image-store.ts';
import { stripMetadata } from './images/metadata.ts';
import type { Size } from './images/parameters.ts';

/** Content types accepted for image uploads, for the `accept` attribute. */
export const imageTypes = 'image/png,image/jpeg,image/webp,image/svg+xml';

/** Name of the form field for the image file. */
export const imageField = 'image';

/** Renders the field for uploading a new offer's first image. */
export const firstImageField = (form: FormBuilder): Html =>
  form.custom(
    imageField,
    t('offers.firstImage'),
    html`
      <div class="label"><label for="f-first-image">${t('offers.firstImage')}</label></div>
      <input type="file" id="f-first-image" name="${imageField}" accept="${imageTypes}"
        aria-describedby="f-first-image-hint">
      <p class="hint" id="f-first-image-hint">${t('offers.firstImageHint')}</p>`,
  );

/** Returns the creative types as form choices. */
export const creativeTypes = (): Choice[] => [
  { value: 'offer_image', text: t('offers.offerImage') },
  { value: 'hero_image', text: t('offers.heroImage') },
  { value: 'icon_image', text: t('offers.iconImage') },
];

/** Validated image upload, in the form in which it will be stored. */
export type Upload = { bytes: Buffer; type: ImageType; size: Size };

/** Maximum file size of an image, in bytes. */
export const maxUploadBytes = 5 * 1024 * 1024;
/** Maximum image width or height, in pixels. */
const maxSide = 20_000;
/** Maximum number of pixels per frame. Larger images are rejected because they could not be resized later. */
const maxPixels = 50_000_000;
/** Maximum processing time per image, in seconds. */
const timeoutS = 10;

const names = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp', svg: 'image/svg+xml' } as const;
type Kind = keyof typeof names;

/** Processes one upload at a time, because a crafted upload can take seconds of CPU time. */
const inTurn = createLimiter({
  maxConcurrent: 1,
  maxWaitingPerClient: 16,
  message: problem('imagesWaiting'),
});

const refused = (message: Problem, cause?: unknown): AppError =>
  new AppError('invalid_picture', {
    details: [{ path: '/image', message }],
    ...(cause === undefined ? {} : { cause }),
  });

/**
 * Validates an image by its content and measures its displayed size, after EXIF rotation. SVGs are converted to PNG
 * without loading external resources or running scripts. Camera metadata, such as the location, is removed.
 * @param declared content type sent by the client; empty or application/octet-stream if the client does not know the
 * type
 * @throws AppError invalid_picture with the reason; body_too_large; unavailable if too many uploads are queued
 */
export async function readUpload(bytes: Buffer, declared: string): Promise<Upload> {
  requireBytes(bytes);
  const kind = kindOf(bytes);
  if (kind === null) throw refused(problem('imageType'));
  const declaredType = declared.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isNamed = declaredType !== '' && declaredType !== 'application/octet-stream';
  if (isNamed && declaredType !== names[kind] && !(kind === 'jpg' && declaredType === 'image/jpg'))
    throw refused(problem('imageDeclared', { declared: declaredType.slice(0, 60), held: names[kind] }));
  if (kind === 'svg' && /<!ENTITY/i.test(bytes.toString('latin1'))) throw refused(problem('imageEntities'));
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
  const failure = 'problem' in drawn ? drawn.problem : 'broken';
  if (failure === 'slow') throw refused(problem('imageSlow', { seconds: timeoutS }));
  if (failure === 'heavy') throw refused(problem('imageHeavy'));
  throw refused(problem('imageNotDrawn'));
}

async function readPhoto(bytes: Buffer, kind: Exclude<Kind, 'svg'>): Promise<Upload> {
  // Strip metadata first: only this step limits the number of chunks in the file.
  const upright = stripMetadata(bytes, kind, 1);
  if (upright === null) throw refused(problem('imageNotBuilt'));
  const { width, height, orientation } = await measure(bytes);
  requireSize({ width, height });
  const stored = orientation > 1 ? (stripMetadata(bytes, kind, orientation) ?? upright) : upright;
  requireBytes(stored); // the new EXIF orientation adds bytes
  try {
    // Decode the whole image once, because a valid header may be followed by corrupt data.
    const image = sharp(stored, { limitInputPixels: maxPixels, failOn: 'error' }).timeout({ seconds: timeoutS });
    await image.resize(32, 32, { fit: 'inside' }).raw().toBuffer();
  } catch (err) {
    throw refused(problem('imageCut'), err);
  }
  return { bytes: stored, type: kind, size: { width, height } };
}

/**
 * Validates the file size.
 * @throws AppError body_too_large
 */
function requireBytes(bytes: Buffer): void {
  if (bytes.length > maxUploadBytes) throw new AppError('body_too_large', { message: problem('imageSize') });
}

/**
 * Validates the image dimensions.
 * @throws AppError invalid_picture if the width or height is too large, or there are too many pixels
 */
function requireSize({ width, height }: Size): void {
  if (width > maxSide || height > maxSide) throw refused(problem('imageSide', { width, height, max: maxSide }));
  if (width * height > maxPixels) throw refused(problem('imagePixels', { width, height, max: maxPixels / 1e6 }));
}

async function measure(bytes: Buffer): Promise<Size & { orientation: number }> {
  try {
    const { autoOrient, orientation = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return { ...autoOrient, orientation };
  } catch (err) {
    throw refused(problem('imageUnread'), err);
  }
}

/** Maximum size of the multipart headers, in bytes. Added to the image size limit to get the body limit. */
const overheadBytes = 64 * 1024;

/** Maximum number of form fields. All supported forms have fewer. */
const maxFields = 10;

/** Description of the image limits, for the API reference. */
export const imageLimits =
  'the file `image`: PNG, JPEG, WebP or SVG (stored as PNG) of at most 5 MB, 20,000 pixels per side and 50 megapixels';

/**
 * Enables multipart image forms for the routes of a scope.
 * @param maxFieldBytes maximum size of a text field, in bytes
 * @returns route options
 */
export async function registerImageForms(app: App, maxFieldBytes: number): Promise<{ bodyLimit: number }> {
  await app.register(multipart, {
    limits: {
      fileSize: maxUploadBytes,
      files: 1,
      fields: maxFields,
      fieldSize: maxFieldBytes,
      fieldNameSize: 100,
      headerPairs: 50,
    },
    throwFileSizeLimit: false,
  });
  return { bodyLimit: maxUploadBytes + overheadBytes + maxFields * maxFieldBytes };
}

/**
 * Parsed image form. Identical forms have the same value of `same`, which is used to compare requests with the same
 * `Idempotency-Key`.
 */
export type ImageForm = { fields: Values; image: Upload; same: string };

/**
 * Reads a form with an image.
 * @param readField parses the text of a field; values of the wrong type are left for validation to reject
 * @throws AppError body_too_large; malformed_request; invalid_request if the image is missing; invalid_picture
 */
export async function readImageForm(
  request: FastifyRequest,
  readField: (name: string, value: unknown) => unknown,
): Promise<ImageForm> {
  const fields: Values = {};
  let file: { bytes: Buffer; declared: string } | null = null;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') {
        if (part.valueTruncated)
          throw new AppError('body_too_large', { message: problem('formFieldLong', { name: part.fieldname }) });
        fields[part.fieldname] = readField(part.fieldname, part.value);
      } else {
        const bytes = await part.toBuffer();
        if (part.file.truncated) throw new AppError('body_too_large', { message: problem('imageSize') });
        if (part.fieldname === imageField) file = { bytes, declared: part.mimetype };
      }
    }
  } catch (err) {
    if (err instanceof AppError) throw err;
    const { statusCode } = err as { statusCode?: number };
    throw new AppError(statusCode === 413 ? 'body_too_large' : 'malformed_request', { cause: err });
  }
  if (file === null)
    throw new AppError('invalid_request', {
      details: [{ path: '/image', message: problem('imageRequired') }],
    });
  const same = `${JSON.stringify(fields)}\n${hash('sha256', file.bytes, 'hex')}`;
  return { fields, image: await readUpload(file.bytes, file.declared), same };
}

/**
 * Creates the configured image store.
 * @returns null if images are stored in the database
 */
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

/** Stores original images as files in a directory, which several processes may share. */
const createFolderStore = (folder: string): ImageStore => ({
  put: async (sha256, bytes) => {
    const path = pathOf(folder, sha256);
    const present = await readIfThere(path);
    if (present === null || !present.equals(bytes)) await writeWhole(path, bytes, { durable: true });
  },
  get: (sha256) => readIfThere(pathOf(folder, sha256)),
});

/** Timeout of a bucket request, in milliseconds. */
const bucketTimeoutMs = 10_000;

/** Stores original images as objects in an S3-compatible bucket. */
function createS3Store(setting: Extract<ImageStoreSetting, { kind: 's3' }>): ImageStore {
  const call = createBucketClient(setting, bucketTimeoutMs);
  return {
    put: async (sha256, body) => {
      const response = await call('PUT', { name: sha256, body });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`the bucket answered ${response.status} to a PUT`);
    },
    get: async (sha256) => {
      const response = await call('GET', { name: sha256 });
      const bytes = Buffer.from(await response.arrayBuffer());
      if (response.status === 404) return null;
      if (!response.ok) throw new Error(`the bucket answered ${response.status} to a GET`);
      return bytes;
    },
  };
}

/**
 * Stores the image of a creative. The bytes are written to the image store before the database row that refers to them.
 * If the transaction is rolled back, unused bytes may therefore remain in the image store.
 * @throws AppError unavailable if the image store fails
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
      message: problem('imageStoreDown'),
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
