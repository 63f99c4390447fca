import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import type { Alone } from '../../../management/alone.ts';
import { warningSchema } from '../../../management/answers.ts';
import {
  callOf,
  flagOf,
  type ManagementHttp,
  publisherIdParameter,
  requirePermission,
  send,
} from '../../../management/http.ts';
import { operatorOnly } from '../../../management/resource-routes.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { booleanParameter, errorAnswers } from '../../../platform/http/schemas.ts';
import type { ImageStore } from '../../images/image-store.ts';
import { type Applied, applyCatalogue, previewApply } from './apply.ts';
import { bytesOfFile, file, maxBytes, readCatalogueFile, requireBoth } from './calls.ts';
import { checkImages } from './import.ts';
import { type Catalogue, parseForPublisher } from './parse.ts';

/**
 * Maximum number of rows that one call can change. The limit exists because each row is written separately. Use the CLI
 * command for larger changes.
 */
const maxChanges = 2000;

const query = Type.Object({
  publisher_id: publisherIdParameter,
  dry_run: booleanParameter('`true` returns the plan and writes nothing.'),
  prune: booleanParameter('`true` removes rows that are not in the file.'),
  plan: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Digest of the plan that you reviewed. If the plan has changed since, the call fails with 409.',
    }),
  ),
});
type ApplyRoute = { Querystring: Static<typeof query> };

const anyValue = Type.Unknown({
  description: 'Any JSON value. A row that the same file creates is referenced by its path.',
});
const change = Type.Object(
  {
    change: Type.Union(['created', 'changed', 'removed'].map((name) => Type.Literal(name))),
    kind: Type.String({ description: '`publisher`, or the name of a list in the file.' }),
    id: Type.Union([Type.Integer(), Type.String(), Type.Null()], {
      description: 'ID of the row, or `null` if the row is created.',
    }),
    name: Type.String({ description: 'Name or title of the row.' }),
    path: Type.Union([Type.String(), Type.Null()], {
      description: 'Path in the file, or `null` if the row is not in the file.',
    }),
    fields: Type.Array(Type.Object({ name: Type.String(), from: anyValue, to: anyValue }), {
      description: 'Fields that change, for a changed row.',
    }),
  },
  { title: 'CatalogueChange' },
);

const schema = {
  security: [...operatorOnly, { bearer: [] }],
  operationId: 'applyCatalogue',
  summary: 'Apply a catalogue file',
  description:
    'Creates and changes rows so that the publisher matches the file. With `prune`, rows that are not in the ' +
    'file are removed. Either all changes are applied or none. Repeating the call changes nothing. `dry_run` ' +
    'returns the plan.',
  tags: ['Catalogue'],
  querystring: query,
  body: file,
  response: {
    200: Type.Object({
      message: Type.String(),
      data: Type.Object({
        dry_run: Type.Boolean(),
        plan: Type.String({ description: 'Digest of the plan, for the parameter `plan`.' }),
        counts: Type.Object({ created: Type.Integer(), changed: Type.Integer(), removed: Type.Integer() }),
        changes: Type.Array(change),
        warnings: warningSchema,
      }),
    }),
    ...errorAnswers(400, 401, 403, 404, 409, 413, 429),
  },
};

type ApplyDeps = { http: ManagementHttp; store: ImageStore | null; alone: Alone };

/**
 * Registers the route that applies a catalogue file.
 * @param scope scope that does not parse request bodies, because the file must not be read until permissions have been
 * checked
 */
export function applyRoute(scope: App, { http, store, alone }: ApplyDeps): void {
  const { management } = http;
  const options = { schema, bodyLimit: maxBytes, ...requirePermission(http, 'configurations') };
  const read = async (request: FastifyRequest): Promise<Catalogue> => {
    const { actor, publisherId } = callOf(request);
    const content = await readCatalogueFile(await bytesOfFile(request));
    const parsed = await management.read(actor, publisherId, (work) => parseForPublisher(content, work));
    if ('details' in parsed) throw new AppError('invalid_request', { details: parsed.details });
    await checkImages(parsed.catalogue);
    return parsed.catalogue;
  };
  scope.post<ApplyRoute>('/manage/v1/catalogue/apply', options, (request, reply) => {
    requireBoth(request);
    const { actor, publisherId } = callOf(request);
    const { plan: expected = null } = request.query;
    const [isDryRun, prune] = [flagOf(request, 'dry_run'), flagOf(request, 'prune')];
    return alone(publisherId, async () => {
      const catalogue = await read(request);
      const data = isDryRun
        ? await management.readMoment(actor, publisherId, (work) =>
            previewApply(work, catalogue, { prune, maxChanges }),
          )
        : await management.write(actor, publisherId, (work: Work) =>
            applyCatalogue(work, catalogue, { store, prune, expected, maxChanges }),
          );
      return send(reply, { status: 200, body: { message: messageOf(data), data }, headers: {} });
    });
  });
}

function messageOf({ dry_run: isDryRun, changes: { length } }: Applied): string {
  if (length === 0) return 'The catalogue is as the file says. Nothing to change.';
  const rows = `${length} row${length === 1 ? '' : 's'}`;
  return isDryRun ? `${rows} would change. Nothing was written.` : `Changed ${rows}.`;
}
