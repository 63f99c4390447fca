import { hash } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { Values } from '../management/resource.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { imageField, maxUploadBytes, readUpload, type Upload } from './image-upload.ts';

/** What comes beside the picture: the heads of the parts (bytes). */
const overheadBytes = 64 * 1024;

/** Fields of a form (count): more than any of them has. */
const maxFields = 10;

/** What a call takes, for the API reference. */
export const pictureLimits =
  'the file `image`: PNG, JPEG, WebP or SVG (kept as PNG), at most 5 MB, 20,000 pixels a side and 50 million in all';

/**
 * Lets the routes of a scope take forms with a picture.
 * @param maxFieldBytes what a field may have
 * @returns options of these routes
 */
export async function takeImageForms(app: App, maxFieldBytes: number): Promise<{ bodyLimit: number }> {
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

/** `same`: text that equal forms have in common, for `Idempotency-Key`. */
export type ImageForm = { fields: Values; picture: Upload; same: string };

/**
 * Reads a form with a picture.
 * @param readField the value of a field, which comes as a text; what is none of its type is left for checks to name
 * @throws AppError body_too_large, malformed_request, invalid_request without a picture, invalid_picture
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
          throw new AppError('body_too_large', { message: `The field ${part.fieldname} is too long.` });
        fields[part.fieldname] = readField(part.fieldname, part.value);
      } else {
        const bytes = await part.toBuffer();
        if (part.file.truncated) throw new AppError('body_too_large', { message: 'A picture may have at most 5 MB.' });
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
      details: [{ path: '/image', message: 'is required: the picture as a file' }],
    });
  const same = `${JSON.stringify(fields)}\n${hash('sha256', file.bytes, 'hex')}`;
  return { fields, picture: await readUpload(file.bytes, file.declared), same };
}
