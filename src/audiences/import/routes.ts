import type { Readable } from 'node:stream';
import { type Static, Type } from '@sinclair/typebox';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { AppError } from '../../platform/errors.ts';
import { dryRunView, fileWarning } from '../../platform/files/counter.ts';
import { fileQuery, readFileOptions } from '../../platform/files/query.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { listId } from '../audiences.ts';
import { type Import, listImports } from './imports.ts';
import { type ImportDeps, type ImportResult, importMembers, maxImportBytes } from './run.ts';

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
const importResult = Type.Composite(
  [
    importView,
    Type.Object({
      duplicates: Type.Integer({ description: 'Rows of users who are named before in the file.' }),
      warnings: Type.Array(fileWarning),
    }),
  ],
  { title: 'AudienceImportResult' },
);
const importAnswer = Type.Object(
  { message: Type.String(), data: Type.Union([importResult, dryRunView]) },
  { title: 'AudienceImportAnswer' },
);
const importQuery = Type.Object({ ...publisherQuery.properties, ...fileQuery });
const importsAnswer = Type.Object(
  { message: Type.String(), data: Type.Array(importView) },
  { title: 'AudienceImportsAnswer' },
);

/** Routes of member imports from files (docs/reference/users-and-privacy.md#audiences). */
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
        'A header names the column with the ids (`id`, `user_id`, `customer_id` …) or the hashes ' +
        '(`sha256_email`), and `expires_at` when memberships end; a file with one column needs none. ' +
        '`?dry_run=true` shows how the file is ' +
        'read. If more than 1 % of the rows are refused, nothing is loaded unless `?partial=true` is given. All ' +
        'others become members in one moment, or none: an import that fails is sent again. ' +
        'Send files larger than 1 GB, or ' +
        'slower than 30 seconds, in several calls, or compressed by gzip.',
      tags,
      params,
      querystring: importQuery,
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
        const options = readFileOptions(request.query);
        const done = await importMembers(deps, target, request.body as Readable, options);
        if ('checked' in done) return { message: 'File checked.', data: done.checked };
        return { message: 'Members imported.', data: resultOf(done.imported) };
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
      const imports = await management.read(actor, publisherId, async (work) =>
        listImports(work.executor, await listId(work, request.params.key), work.nowMs),
      );
      reply.header('cache-control', 'no-store');
      return { message: 'Imports.', data: imports.map(viewOf) };
    },
  );
}

const viewOf = ({ id, state, startedAt, rows, bad, added, errors }: Import) => ({
  id,
  state,
  started_at: startedAt.toISOString(),
  rows,
  bad,
  added,
  errors,
});

const resultOf = ({ duplicates, warnings, ...done }: ImportResult) => ({ ...viewOf(done), duplicates, warnings });
