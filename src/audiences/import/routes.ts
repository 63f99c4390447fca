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
      { description: 'State of the import. If it failed, no members were added; send the file again.' },
    ),
    started_at: Type.String({ format: 'date-time' }),
    rows: Type.Integer({ description: 'Number of rows read so far.' }),
    bad: Type.Integer({ description: 'Number of rows that were skipped because they contain no valid user.' }),
    added: Type.Integer({ description: 'Number of users who were not members before.' }),
    errors: Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() }), {
      description: 'The first 100 invalid rows.',
    }),
  },
  { title: 'AudienceImport' },
);
const importResult = Type.Composite(
  [
    importView,
    Type.Object({
      duplicates: Type.Integer({ description: 'Number of rows that repeat a user of the file.' }),
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

/** Registers the routes that import members from files (docs/reference/users-and-privacy.md#audiences). */
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
        'Reads user IDs from a column such as `id`, `user_id` or `customer_id`, or hashes from `sha256_email`, ' +
        'and optional expiry times from `expires_at`. A file with one column needs no header. `?dry_run=true` ' +
        'shows how the file is read. If more than 1% of the rows are invalid, nothing is loaded unless ' +
        '`?partial=true` is set. All valid rows take effect at the same moment. If an import fails, send the ' +
        'file again. Split files that are larger than 1 GB or take longer than 30 seconds to send, or compress ' +
        'them with gzip.',
      tags,
      params,
      querystring: importQuery,
      consumes: ['text/csv'],
      body: Type.String({ description: 'CSV file.' }),
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
    summary: 'List the imports of an audience',
    description: 'Returns the 20 latest imports of the last 30 days with their progress, newest first.',
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
      return { message: 'Imports found.', data: imports.map(viewOf) };
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
