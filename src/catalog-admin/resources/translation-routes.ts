import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { notALanguage } from '../../management/fields.ts';
import { callOf, type ManagementHttp, publisherIdParameter, requirePermission } from '../../management/http.ts';
import { AppError } from '../../platform/errors.ts';
import { dryRunView } from '../../platform/files/counter.ts';
import { type FileOptions, fileQuery, readFileOptions } from '../../platform/files/query.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers, integerParameter } from '../../platform/http/schemas.ts';
import { canonicalTag } from '../../platform/lib/language-tags.ts';
import { problem } from '../../platform/problem.ts';
import { offers } from './offers.ts';
import { exportTranslations, type ImportedTranslations, runImport } from './translation-file.ts';

const path = '/manage/v1/translations';

/** Maximum file size, in bytes. */
export const maxTranslationBytes = 4 * 1024 * 1024;

const tags = ['Offers'];
const exportQuery = Type.Object({
  publisher_id: publisherIdParameter,
  campaign_id: integerParameter({ minimum: 1 }, { description: 'Exports only the offers of this campaign.' }),
  offer_id: integerParameter({ minimum: 1 }, { description: 'Exports only this offer.' }),
  languages: Type.Optional(
    Type.String({
      description:
        'BCP 47 tags of the language columns, separated by commas. Defaults to the languages of existing ' +
        'translations.',
    }),
  ),
});
const importQuery = Type.Object({
  publisher_id: publisherIdParameter,
  dry_run: fileQuery.dry_run,
  partial: fileQuery.partial,
});
const importAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object(
    {
      dry_run: Type.Boolean(),
      offers: Type.Integer({ description: 'Number of offers that changed.' }),
      texts: Type.Integer({ description: 'Number of strings that changed.' }),
      languages: Type.Array(Type.String()),
      ...dryRunView.properties,
    },
    { title: 'ImportedTranslations' },
  ),
});

/**
 * Registers the routes that export and import offer copy as files for translators
 * (docs/reference/themes-and-rendering.md#translations).
 */
export function translationRoutes(app: App, http: ManagementHttp): void {
  const { management } = http;
  const hooks = requirePermission(http, offers.permission);
  const exportSchema = {
    operationId: 'exportTranslations',
    summary: 'Export offer copy',
    description:
      'Returns a CSV file for translators. Each row is a text, with `offer_id`, `text`, its `limit` in ' +
      'characters, the `original`, and one column per language.',
    tags,
    querystring: exportQuery,
    response: {
      200: { description: 'CSV file.', content: { 'text/csv': { schema: Type.String() } } },
      ...errorAnswers(400, 401, 403),
    },
  };
  app.get<{ Querystring: Static<typeof exportQuery> }>(
    path,
    { schema: exportSchema, ...hooks },
    async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const { campaign_id, offer_id, languages = '' } = request.query;
      const filter = {
        campaignId: idOf('campaign_id', campaign_id),
        offerId: idOf('offer_id', offer_id),
        languages: tagsOf(languages),
      };
      const file = await management.read(actor, publisherId, (work) => exportTranslations(work, filter));
      reply.header('content-disposition', `attachment; filename="translations-${publisherId}.csv"`);
      return reply.header('cache-control', 'no-store').type('text/csv; charset=utf-8').send(file);
    },
  );

  const importSchema = {
    operationId: 'importTranslations',
    summary: 'Import offer copy',
    description:
      'Imports a file in the format of the export, up to 4 MB. Columns and rows can be omitted, and empty cells ' +
      'change nothing. If more than 1% of the rows are invalid, nothing is changed unless `?partial=true` is ' +
      'set. `?dry_run=true` shows how the file is read and what would change.',
    tags,
    querystring: importQuery,
    consumes: ['text/csv'],
    body: Type.String({ description: 'CSV file.' }),
    response: { 200: importAnswer, ...errorAnswers(400, 401, 403, 413, 415) },
  };
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(['text/csv', 'text/plain'], { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    const options = { schema: importSchema, bodyLimit: maxTranslationBytes, ...hooks };
    scope.post<{ Querystring: Static<typeof importQuery> }>(path, options, async (request, reply) => {
      const options = readFileOptions(request.query);
      const { file, ...data } = await importFile(management, request, options);
      const message = options.isDryRun ? 'File checked.' : 'Texts imported.';
      reply.header('cache-control', 'no-store');
      return reply.send({ message, data: { dry_run: options.isDryRun, ...data, ...file } });
    });
  });
}

async function importFile(
  management: ManagementHttp['management'],
  request: FastifyRequest,
  options: FileOptions,
): Promise<ImportedTranslations> {
  const { actor, publisherId } = callOf(request);
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return runImport(options, (run) => management.write(actor, publisherId, run), bytes);
}

/**
 * Parses an ID from a query parameter.
 * @throws AppError invalid_request
 */
export function idOf(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new AppError('invalid_request', { details: [{ path: `/${name}`, message: problem('anId') }] });
  return Number(text);
}

function tagsOf(list: unknown): string[] {
  const names = String(list)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.map((name) => {
    const tag = canonicalTag(name);
    if (tag === null)
      throw new AppError('invalid_request', { details: [{ path: '/languages', message: notALanguage }] });
    return tag;
  });
}
