import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import type { ImageStoreSetting } from '../../../config.ts';
import {
  callOf,
  fieldsOf,
  type ManagementHttp,
  post,
  publisherIdParameter,
  publisherQuery,
  requirePermission,
} from '../../../management/http.ts';
import { idempotencyKey, operatorOnly } from '../../../management/resource-routes.ts';
import { isOperator } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import { errorAnswers } from '../../../platform/http/schemas.ts';
import type { App } from '../../../platform/ports.ts';
import { createImageStore } from '../../image-storage.ts';
import { exportCatalogue } from './export.ts';
import { checkPictures, importCatalogue, requireEmpty } from './import.ts';
import { parseCatalogue } from './parse.ts';

/** Beyond this the command is the way (bytes of a file). */
const maxBytes = 32 * 1024 * 1024;

const tags = ['Catalogue'];
const file = Type.Object(
  {},
  { additionalProperties: true, description: 'A catalogue file; see the guide of the management API.' },
);

/** A publisher's whole catalogue as one JSON file, out and in. */
export function catalogueRoutes(app: App, http: ManagementHttp, imageStore: ImageStoreSetting): void {
  const store = createImageStore(imageStore);
  const hooks = requirePermission(http, 'configurations');

  const exportSchema = {
    operationId: 'exportCatalogue',
    summary: 'Export the catalogue',
    tags,
    querystring: publisherQuery,
    response: { 200: file, ...errorAnswers(401, 403, 404, 413) },
  };
  app.get('/manage/v1/catalogue/export', { schema: exportSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = requireBoth(request);
    const text = await http.management.readMoment(actor, publisherId, async (work) => {
      let all = '';
      for await (const piece of exportCatalogue(work, store)) {
        all += piece;
        if (all.length > maxBytes)
          throw new AppError('body_too_large', {
            message: 'The catalogue is larger than a call can hold; use the command `catalogue export`.',
          });
      }
      return all;
    });
    return reply
      .headers({
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="catalogue-${publisherId}.json"`,
      })
      .type('application/json; charset=utf-8')
      .send(text as never);
  });

  const importSchema = {
    security: [...operatorOnly, { bearer: [] }],
    operationId: 'importCatalogue',
    summary: 'Import a catalogue',
    description: 'Into a publisher without themes, advertisers and sequence rules; all or nothing. Rows get new ids.',
    tags,
    querystring: Type.Object({
      publisher_id: publisherIdParameter,
      dry_run: Type.Optional(Type.String({ description: '`true`: everything is checked, nothing is written.' })),
    }),
    headers: idempotencyKey,
    body: file,
    response: {
      200: Type.Object({ message: Type.String(), data: Type.Object({ dry_run: Type.Boolean() }) }),
      201: Type.Object({
        message: Type.String(),
        data: Type.Object({ publisher_id: Type.Integer(), counts: Type.Record(Type.String(), Type.Integer()) }),
      }),
      ...errorAnswers(400, 401, 403, 404, 409, 413, 422),
    },
  };
  app.post(
    '/manage/v1/catalogue/import',
    { schema: importSchema, bodyLimit: maxBytes, ...hooks },
    async (request, reply) => {
      const { actor, publisherId } = requireBoth(request);
      const parsed = await http.management.read(actor, publisherId, (work) => parseCatalogue(fieldsOf(request), work));
      if ('details' in parsed) throw new AppError('invalid_request', { details: parsed.details });
      await checkPictures(parsed.catalogue);
      if ((request.query as { dry_run?: unknown }).dry_run === 'true') {
        await http.management.read(actor, publisherId, requireEmpty);
        return reply.send({ message: 'The file can be imported.', data: { dry_run: true } });
      }
      return post(http, request, reply, async (work) => {
        const data = await importCatalogue(work, parsed.catalogue, { store, intoNew: false });
        return { status: 201, body: { message: 'Catalogue imported.', data }, headers: {} };
      });
    },
  );
}

/** A catalogue is settings and offers: one needs to be allowed both. */
function requireBoth(request: FastifyRequest): ReturnType<typeof callOf> {
  const call = callOf(request);
  if (!isOperator(call.actor) && !call.actor.permissions.has('offers/management'))
    throw new AppError('permission_denied', { message: 'The key lacks the permission offers/management.' });
  return call;
}
