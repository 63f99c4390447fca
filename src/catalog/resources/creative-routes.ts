import { hash } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { ImageStoreSetting } from '../../config.ts';
import { answerOf, rowAnswer } from '../../management/answers.ts';
import {
  fieldsOf,
  forLimitedKeys,
  type ManagementHttp,
  post,
  publisherQuery,
  requirePermission,
} from '../../management/http.ts';
import { createBody, type Values } from '../../management/resource.ts';
import { idempotencyKey } from '../../management/resource-routes.ts';
import { createRow } from '../../management/rows.ts';
import { AppError } from '../../platform/errors.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import { createImageStore } from '../image-storage.ts';
import { maxUploadBytes, readUpload } from '../image-upload.ts';
import { createUploadedCreative, creatives } from './creatives.ts';

/** What comes beside the picture: a few short fields, and the heads of the parts. */
const overheadBytes = 64 * 1024;

type Form = { fields: Values; bytes: Buffer; declared: string };

/** `POST /manage/v1/creatives`: a picture as a form with a file, or the URL of one as JSON. */
export async function creativeRoutes(app: App, http: ManagementHttp, imageStore: ImageStoreSetting): Promise<void> {
  const store = createImageStore(imageStore);
  await app.register(multipart, {
    limits: { fileSize: maxUploadBytes, files: 1, fields: 10, fieldSize: 1000, fieldNameSize: 100, headerPairs: 50 },
    throwFileSizeLimit: false,
  });
  const schema = {
    operationId: 'createCreative',
    summary: 'Create a creative',
    description:
      'JSON names the `url` of a picture with its size. `multipart/form-data` uploads one: fields `offer_id`, ' +
      '`creative_type`, `is_primary`, `language`, and the file `image`: PNG, JPEG, WebP or SVG (kept as PNG), at ' +
      'most 5 MB, 20,000 pixels a side and 50 million in all.',
    tags: ['Creatives'],
    consumes: ['application/json', 'multipart/form-data'],
    querystring: publisherQuery,
    headers: idempotencyKey,
    body: createBody(creatives),
    response: { 201: answerOf(http, creatives), ...errorAnswers(400, 401, 403, 404, 409, 413, 415, 422) },
  };
  app.post(
    '/manage/v1/creatives',
    {
      schema,
      bodyLimit: maxUploadBytes + overheadBytes,
      ...requirePermission(http, creatives.permission),
      ...forLimitedKeys,
    },
    async (request, reply) => {
      const message = 'Creative created.';
      if (!request.isMultipart())
        return post(http, request, reply, async (work) =>
          rowAnswer(http, creatives, work, await createRow(creatives, work, fieldsOf(request)), {
            message,
            status: 201,
          }),
        );
      const { fields, bytes, declared } = await readForm(request);
      const upload = await readUpload(bytes, declared);
      const same = `${JSON.stringify(fields)}\n${hash('sha256', bytes, 'hex')}`;
      return post(
        http,
        request,
        reply,
        async (work) =>
          rowAnswer(http, creatives, work, await createUploadedCreative(work, fields, upload, store), {
            message,
            status: 201,
          }),
        same,
      );
    },
  );
}

async function readForm(request: FastifyRequest): Promise<Form> {
  const fields: Values = {};
  let file: Omit<Form, 'fields'> | null = null;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') fields[part.fieldname] = readField(part.fieldname, part.value);
      else {
        const bytes = await part.toBuffer();
        if (part.file.truncated) throw new AppError('body_too_large', { message: 'A picture may have at most 5 MB.' });
        if (part.fieldname === 'image') file = { bytes, declared: part.mimetype };
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
  return { fields, ...file };
}

/** Fields of a form are texts; what is none of its type is left for the checks to name. */
function readField(name: string, value: unknown): unknown {
  if (name === 'offer_id' && /^\d{1,10}$/.test(String(value))) return Number(value);
  if (name === 'is_primary' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}
