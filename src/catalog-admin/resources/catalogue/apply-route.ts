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
import { checkPictures } from './import.ts';
import { type Catalogue, parseForPublisher } from './parse.ts';

/**
 * Maximum number of rows that one call changes, because each is written like a call of its own. Use the command for
 * more.
 */
const maxChanges = 2000;

const query = Type.Object({
  publisher_id: publisherIdParameter,
  dry_run: booleanParameter('`true`: the plan is answered, nothing is written.'),
  prune: booleanParameter('`true`: rows that the file does not name are removed.'),
  plan: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Digest of the plan that was agreed to: 409 where the plan is another by now.',
    }),
  ),
});
type ApplyRoute = { Querystring: Static<typeof query> };

const anyValue = Type.Unknown({ description: 'Any JSON value; a row that the same file makes stands by its path.' });
const change = Type.Object(
  {
    change: Type.Union(['created', 'changed', 'removed'].map((name) => Type.Literal(name))),
    kind: Type.String({ description: '`publisher`, or the name of a list of the file.' }),
    id: Type.Union([Type.Integer(), Type.String(), Type.Null()], { description: 'null: it is made.' }),
    name: Type.String({ description: 'Name or title.' }),
    path: Type.Union([Type.String(), Type.Null()], { description: 'In the file; null: it is not there.' }),
    fields: Type.Array(Type.Object({ name: Type.String(), from: anyValue, to: anyValue }), {
      description: 'Of a changed row: those that change.',
    }),
  },
  { title: 'CatalogueChange' },
);

const schema = {
  security: [...operatorOnly, { bearer: [] }],
  operationId: 'applyCatalogue',
  summary: 'Apply a catalogue file',
  description:
    'Brings a publisher to the state of a file: makes and changes rows, and with `prune` removes others. All or ' +
    'nothing; applied again it changes nothing. `dry_run` answers the plan.',
  tags: ['Catalogue'],
  querystring: query,
  body: file,
  response: {
    200: Type.Object({
      message: Type.String(),
      data: Type.Object({
        dry_run: Type.Boolean(),
        plan: Type.String({ description: 'Digest of the plan.' }),
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
 * Route that applies a catalogue file.
 * @param scope passes bodies on unparsed, because a file is read only after the permissions were checked
 */
export function applyRoute(scope: App, { http, store, alone }: ApplyDeps): void {
  const { management } = http;
  const options = { schema, bodyLimit: maxBytes, ...requirePermission(http, 'configurations') };
  const read = async (request: FastifyRequest): Promise<Catalogue> => {
    const { actor, publisherId } = callOf(request);
    const content = await readCatalogueFile(await bytesOfFile(request));
    const parsed = await management.read(actor, publisherId, (work) => parseForPublisher(content, work));
    if ('details' in parsed) throw new AppError('invalid_request', { details: parsed.details });
    await checkPictures(parsed.catalogue);
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
