import { hash } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { Values } from '../management/resource.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { imageField, maxUploadBytes, readUpload, type Upload } from './image-upload.ts';

/** Allowance for the part headers of the form, in addition to the picture (bytes). */
const overheadBytes = 64 * 1024;

/** Maximum number of fields; no form has that many. */
const maxFields = 10;

/** Limits of pictures, for the API reference. */
export const pictureLimits =
  'the file `image`: PNG, JPEG, WebP or SVG (kept as PNG), at most 5 MB, 20,000 pixels a side and 50 million in all';

/**
 * Enables multipart forms with a picture for the routes of a scope.
 * @param maxFieldBytes maximum size of a field
 * @returns options for these routes
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

/** A parsed form. `same` is text that is equal for equal forms, for `Idempotency-Key`. */
export type ImageForm = { fields: Values; picture: Upload; same: string };

/**
 * Reads a form with a picture.
 * @param readField parses the text of a field; values of the wrong type are left for validation to report
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
