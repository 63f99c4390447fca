import type { Readable } from 'node:stream';
import { type Static, Type } from '@sinclair/typebox';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { AppError } from '../../platform/errors.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import { listId } from '../audiences.ts';
import { type Import, listImports } from './imports.ts';
import { type ImportDeps, importMembers, maxImportBytes } from './run.ts';

const params = Type.Object({ key: Type.String() });
const tags = ['Audiences'];
type ImportRoute = { Params: Static<typeof params> };

const importView = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    state: Type.Union(
      ['reading', 'adding', 'done', 'failed'].map((state) => Type.Literal(state)),
      { description: 'failed: nothing was added; send the file again.' },
    ),
    started_at: Type.String({ format: 'date-time' }),
    rows: Type.Integer({ description: 'Rows read so far.' }),
    bad: Type.Integer({ description: 'Rows of these that name nobody, and were passed over.' }),
    added: Type.Integer({ description: 'Users who were no members before.' }),
    errors: Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() }), {
      description: 'The first hundred bad rows.',
    }),
  },
  { title: 'AudienceImport' },
);
const importAnswer = Type.Object({ message: Type.String(), data: importView }, { title: 'AudienceImportAnswer' });
const importsAnswer = Type.Object(
  { message: Type.String(), data: Type.Array(importView) },
  { title: 'AudienceImportsAnswer' },
);

/** Members from files (docs/interface.md#audiences). */
export async function importRoutes(app: App, { http, ...deps }: ImportDeps & { http: ManagementHttp }): Promise<void> {
  const { management } = http;
  const hooks = requirePermission(http, 'configurations');
  const find = (request: Parameters<typeof callOf>[0], key: string): Promise<number> => {
    const { actor, publisherId } = callOf(request);
    return management.read(actor, publisherId, (work) => listId(work, key));
  };

  await app.register(async (scope: App) => {
    scope.setValidatorCompiler(() => (value) => ({ value }));
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(['text/csv', 'text/plain'], (_request, body, done) => done(null, body));
    const schema = {
      operationId: 'importAudienceMembers',
      summary: 'Add members from a CSV file',
      description:
        'One user a line. A first line with the name `id`, or `sha256_email`, says what the column holds, and ' +
        '`expires_at` when memberships end; without one, the first column has ids. Rows that name nobody are counted ' +
        'and passed over. All others become members in one moment, or none: an import that fails is sent again. ' +
        'Larger files than 1 GB, or than arrive in 30 seconds, come in several calls, or compressed by gzip.',
      tags,
      params,
      querystring: publisherQuery,
      consumes: ['text/csv'],
      body: Type.String({ description: 'Lines.' }),
      response: { 200: importAnswer, ...errorAnswers(400, 401, 403, 404, 413, 415) },
    };
    for (const path of ['/manage/v1/audiences/:key/import', '/manage/v1/audiences/:key/members/import']) {
      const described = path.includes('/members/') ? { schema: { hide: true } } : { schema };
      scope.post<ImportRoute>(path, { ...described, bodyLimit: maxImportBytes, ...hooks }, async (request) => {
        const id = await find(request, request.params.key);
        const { publisherId } = callOf(request);
        if (request.body === undefined || request.body === null) throw new AppError('unsupported_media_type');
        const target = { publisherId, audienceId: id };
        const done = await importMembers(deps, target, request.body as Readable);
        return { message: 'Members imported.', data: viewOf(done) };
      });
    }
  });

  const listSchema = {
    operationId: 'listAudienceImports',
    summary: 'Imports of an audience, with their progress',
    description: 'The latest twenty of the last thirty days, the newest first.',
    tags,
    params,
    querystring: publisherQuery,
    response: { 200: importsAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get<ImportRoute>(
    '/manage/v1/audiences/:key/imports',
    { schema: listSchema, ...hooks },
    async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const found = await management.read(actor, publisherId, async (work) =>
        listImports(work.executor, await listId(work, request.params.key), work.nowMs),
      );
      reply.header('cache-control', 'no-store');
      return { message: 'Imports.', data: found.map(viewOf) };
    },
  );
}

const viewOf = ({ id, state, startedAt, rows, bad, added, errors }: Import) => ({
  ...{ id, state, started_at: startedAt.toISOString(), rows, bad, added, errors },
});
