import { Type } from '@sinclair/typebox';
import { fieldsOf, type ManagementHttp, post, publisherQuery, requirePermission } from '../management/http.ts';
import type { Resource } from '../management/resource.ts';
import { createBody, viewSchema } from '../management/resource.ts';
import { idempotencyKey, resourceRoutes, rowAnswer, warningSchema } from '../management/resource-routes.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import type { App } from '../platform/ports.ts';
import { createKey } from './keys.ts';

/** `/manage/v1/keys`. The answer to `POST` is the one that holds the key itself. */
export function keyRoutes(app: App, http: ManagementHttp, keys: Resource): void {
  resourceRoutes(app, http, keys, ['list', 'get', 'update', 'remove']);
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
  app.post('/manage/v1/keys', { schema, ...requirePermission(http, keys.permission) }, (request, reply) =>
    post(http, request, reply, async (work) => {
      const { view, secret } = await createKey(keys, work, fieldsOf(request));
      const answer = await rowAnswer(keys, work, view, 'Key created. It is shown only now.', 201);
      return { ...answer, body: { ...answer.body, data: { ...view, key: secret } } };
    }),
  );
}
