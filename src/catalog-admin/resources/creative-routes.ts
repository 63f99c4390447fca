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
import { createBody } from '../../management/resource.ts';
import { idempotencyKey } from '../../management/resource-routes.ts';
import { createRow } from '../../management/rows.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { createImageStore, imageLimits, readImageForm, registerImageForms } from '../images.ts';
import { createUploadedCreative, creatives } from './creatives.ts';

/** Maximum size of a form field, in bytes. */
const maxFieldBytes = 1000;

/**
 * Registers `POST /manage/v1/creatives`, which accepts either an image file in a multipart form or the URL of an image
 * as JSON.
 */
export async function creativeRoutes(app: App, http: ManagementHttp, imageStore: ImageStoreSetting): Promise<void> {
  const store = createImageStore(imageStore);
  const forms = await registerImageForms(app, maxFieldBytes);
  const schema = {
    operationId: 'createCreative',
    summary: 'Create a creative',
    description:
      'References an image by `url` and size (JSON), or uploads one (`multipart/form-data`) with the fields ' +
      `\`offer_id\`, \`creative_type\`, \`is_primary\`, \`language\`, and ${imageLimits}.`,
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
      ...forms,
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
      const { fields, image, same } = await readImageForm(request, readField);
      return post(
        http,
        request,
        reply,
        async (work) =>
          rowAnswer(http, creatives, work, await createUploadedCreative(work, fields, image, store), {
            message,
            status: 201,
          }),
        same,
      );
    },
  );
}

function readField(name: string, value: unknown): unknown {
  if (name === 'offer_id' && /^\d{1,10}$/.test(String(value))) return Number(value);
  if (name === 'is_primary' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}
