import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { t } from '../platform/i18n/messages.ts';

/** An uploaded image. Its type is the client's claim. */
export type Upload = { bytes: Buffer; declaredType: string };

declare module 'fastify' {
  interface FastifyRequest {
    /** File of a multipart form; null if none was chosen. */
    upload: Upload | null;
  }
}

/** Maximum size of all fields without the file. */
const maxFormBytes = 512 * 1024;
const maxFields = 200;

/** Parses forms to `URLSearchParams` in `request.body`. Multipart forms may contain one file. */
export async function registerFormParsing(app: App, maxUploadBytes: number): Promise<void> {
  app.decorateRequest('upload', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxFormBytes },
    (_request, body, done) => done(null, new URLSearchParams(body as string)),
  );
  await app.register(multipart, {
    limits: {
      files: 1,
      fields: maxFields,
      parts: maxFields + 1,
      fileSize: maxUploadBytes,
      fieldSize: maxFormBytes,
    },
  });
  app.addHook('preValidation', async (request) => {
    if (!request.isMultipart()) return;
    // Without a session, nothing is read into memory.
    if (request.viewer === null) throw new AppError('unsupported_media_type', { message: t('errors.signInFirst') });
    await readParts(request);
  });
}

async function readParts(request: FastifyRequest): Promise<void> {
  const params = new URLSearchParams();
  let fieldBytes = 0;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'file') {
        const bytes = await part.toBuffer();
        if (bytes.length > 0) request.upload = { bytes, declaredType: part.mimetype };
      } else if (typeof part.value === 'string') {
        fieldBytes += Buffer.byteLength(part.value);
        // The parser would return a truncated field.
        if (part.valueTruncated || fieldBytes > maxFormBytes)
          throw new AppError('body_too_large', { message: t('errors.formTooLarge') });
        params.append(part.fieldname, part.value);
      }
    }
  } catch (err) {
    if (err instanceof AppError) throw err;
    const isTooLarge = (err as { statusCode?: number }).statusCode === 413;
    if (isTooLarge) throw new AppError('body_too_large', { message: t('errors.uploadTooLarge'), cause: err });
    throw new AppError('malformed_request', { cause: err });
  }
  request.body = params;
}
