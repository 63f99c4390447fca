import { webcrypto } from 'node:crypto';
import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ImageStoreSetting } from '../../../config.ts';
import { createAlone } from '../../../management/alone.ts';
import { warningSchema } from '../../../management/answers.ts';
import {
  callOf,
  flagOf,
  type ManagementHttp,
  post,
  publisherIdParameter,
  publisherQuery,
  requirePermission,
} from '../../../management/http.ts';
import { idempotencyKey, operatorOnly } from '../../../management/resource-routes.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { booleanParameter, errorAnswers } from '../../../platform/http/schemas.ts';
import { problem } from '../../../platform/problem.ts';
import type { ImageStore } from '../../images/image-store.ts';
import { createImageStore } from '../../images.ts';
import { applyRoute } from './apply-route.ts';
import { bytesOfFile, file, maxBytes, readCatalogueFile, requireBoth } from './calls.ts';
import { exportCatalogue } from './export.ts';
import { checkImages, importCatalogue, requireEmpty, warningsOfImport } from './import.ts';
import { parseCatalogue } from './parse.ts';

/** Approximate size of the chunks in which an export is encoded, in UTF-16 code units. */
const chunkLength = 64 * 1024;

const tags = ['Catalogue'];

/** Registers the routes that export and import a publisher's complete catalogue as a JSON file. */
export function catalogueRoutes(app: App, http: ManagementHttp, imageStore: ImageStoreSetting): void {
  const store = createImageStore(imageStore);
  const hooks = requirePermission(http, 'configurations');
  const alone = createAlone('catalogueJob');

  const exportSchema = {
    operationId: 'exportCatalogue',
    summary: 'Export the catalogue',
    description:
      'Returns the themes, advertisers, campaigns, offers, creatives and sequence rules of a publisher in the ' +
      'format of the import.',
    tags,
    querystring: publisherQuery,
    response: { 200: file, ...errorAnswers(401, 403, 404, 413, 429) },
  };
  app.get('/manage/v1/catalogue/export', { schema: exportSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = requireBoth(request);
    const chunks = await alone(publisherId, () =>
      http.management.readMoment(actor, publisherId, (work) => collect(exportCatalogue(work, store))),
    );
    return reply
      .headers({
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="catalogue-${publisherId}.json"`,
      })
      .type('application/json; charset=utf-8')
      .send(Readable.from(chunks) as never);
  });

  const importSchema = {
    security: [...operatorOnly, { bearer: [] }],
    operationId: 'importCatalogue',
    summary: 'Import a catalogue',
    description:
      'Imports a file into a publisher that has no themes, advertisers or sequence rules. Rows get new IDs. If a ' +
      'row is invalid, nothing is imported.',
    tags,
    querystring: Type.Object({
      publisher_id: publisherIdParameter,
      dry_run: booleanParameter('`true` validates the file and writes nothing.'),
    }),
    headers: idempotencyKey,
    body: file,
    response: {
      200: Type.Object({
        message: Type.String(),
        data: Type.Object({ dry_run: Type.Boolean(), warnings: warningSchema }),
      }),
      201: Type.Object({
        message: Type.String(),
        data: Type.Object({
          publisher_id: Type.Integer(),
          counts: Type.Record(Type.String(), Type.Integer()),
          warnings: warningSchema,
        }),
      }),
      ...errorAnswers(400, 401, 403, 404, 409, 413, 422, 429),
    },
  };
  app.register(async (scope) => {
    // Disable body parsing, because the file must not be read until permissions have been checked.
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser('application/json', (_request, payload, done) => done(null, payload));
    scope.post(
      '/manage/v1/catalogue/import',
      { schema: importSchema, bodyLimit: maxBytes, ...hooks },
      (request, reply) => {
        requireBoth(request);
        return alone(callOf(request).publisherId, () => importFile({ http, store }, request, reply));
      },
    );
    applyRoute(scope, { http, store, alone });
  });
}

type ImportDeps = { http: ManagementHttp; store: ImageStore | null };

async function importFile({ http, store }: ImportDeps, request: FastifyRequest, reply: FastifyReply) {
  const { actor, publisherId } = callOf(request);
  const isDryRun = flagOf(request, 'dry_run');
  // With an `Idempotency-Key`, skip this check: a retry must get the stored response, even though the publisher now has
  // a catalogue.
  if (isDryRun || request.headers['idempotency-key'] === undefined)
    await http.management.read(actor, publisherId, requireEmpty);
  const bytes = await bytesOfFile(request);
  const file = await readCatalogueFile(bytes);
  const parsed = await http.management.read(actor, publisherId, (work) => parseCatalogue(file, work));
  if ('details' in parsed) throw new AppError('invalid_request', { details: parsed.details });
  const { catalogue } = parsed;
  await checkImages(catalogue);
  if (isDryRun) {
    const warnings = await http.management.read(actor, publisherId, (work) =>
      warningsOfImport(work, catalogue, { intoNew: false }),
    );
    return reply.send({ message: 'The file can be imported.', data: { dry_run: true, warnings } });
  }
  const digest = Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');
  const make = async (work: Work) => {
    const data = await importCatalogue(work, catalogue, { store, intoNew: false });
    return { status: 201, body: { message: 'Catalogue imported.', data }, headers: {} };
  };
  return post(http, request, reply, make, digest);
}

/**
 * Combines the chunks of a file into larger buffers.
 * @throws AppError body_too_large
 */
async function collect(pieces: AsyncIterable<string>): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let text = '';
  let length = 0;
  for await (const piece of pieces) {
    text += piece;
    if (text.length < chunkLength) continue;
    chunks.push(Buffer.from(text));
    length += text.length;
    text = '';
    if (length > maxBytes)
      throw new AppError('body_too_large', {
        message: problem('catalogueTooLarge'),
      });
  }
  return [...chunks, Buffer.from(text)];
}
