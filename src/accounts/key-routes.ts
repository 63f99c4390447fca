import { Type } from '@sinclair/typebox';
import { admit, type Door, fieldsOf, post, publisherQuery } from '../management/http.ts';
import { createBody, viewSchema } from '../management/resource.ts';
import { idempotencyKey, rowAnswer, warningSchema } from '../management/resource-routes.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import type { App } from '../platform/ports.ts';
import { createKey, keys } from './keys.ts';

/** `POST /manage/v1/keys`: the one answer that holds the key itself. */
export function keyRoutes(app: App, door: Door): void {
  const data = Type.Object(
    {
      ...viewSchema(keys).properties,
      key: Type.String({ description: 'The key; it is never shown again.' }),
    },
    { title: 'NewKey' },
  );
  const schema = {
    operationId: 'createKey',
    summary: 'Create a key',
    tags: ['Keys'],
    querystring: publisherQuery,
    headers: idempotencyKey,
    body: createBody(keys),
    response: {
      201: Type.Object({ message: Type.String(), data, warnings: warningSchema }),
      ...errorAnswers(400, 401, 403, 404, 409, 422),
    },
  };
  app.post('/manage/v1/keys', { schema, ...admit(door, keys.permission) }, (request, reply) =>
    post(door, request, reply, async (work) => {
      const { view, secret } = await createKey(work, fieldsOf(request));
      const answer = await rowAnswer(keys, work, view, 'Key created. It is shown only now.', 201);
      return { ...answer, body: { ...answer.body, data: { ...view, key: secret } } };
    }),
  );
}
