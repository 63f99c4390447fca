import { type Static, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { callerOf } from '../../accounts/caller.ts';
import type { Publisher } from '../../catalog/types.ts';
import { callOf, type ManagementHttp, post, publisherQuery, requirePermission } from '../../management/http.ts';
import { idempotencyKey } from '../../management/resource-routes.ts';
import { strictBody } from '../../management/strict-body.ts';
import { AppError, notFound } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { inLanguage } from '../../platform/i18n/reader.ts';
import { problem } from '../../platform/problem.ts';
import { answerOf, currencyOfAnswer, type ReportAnswer } from '../pages/explorer/answer.ts';
import { reportTable, toReportCsv } from '../pages/explorer/csv.ts';
import { namesOf } from '../pages/explorer/names.ts';
import {
  listSavedReports,
  maxNameLength,
  maxQueryLength,
  maxReports,
  removeReport,
  type SavedReport,
  saveReport,
} from '../pages/explorer/saved-reports.ts';
import { type ExplorerState, queryOf, readQuery } from '../pages/explorer/state.ts';
import { asOfHeader } from '../query/routes.ts';
import type { ReportService } from '../service.ts';

const path = '/manage/v1/saved-reports';
const tags = ['Reports'];
const params = Type.Object({ id: Type.String() });
type IdRoute = { Params: Static<typeof params> };
const idOf = ({ id }: Static<typeof params>): number => (/^[1-9]\d{0,8}$/.test(id) ? Number(id) : 0);

const queryText = (more: string) =>
  Type.String({
    maxLength: maxQueryLength,
    description: `Query string of the report page, such as \`range=30d&by=campaign&metrics=clicks,revenue\`. ${more}`,
  });
const savedReport = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    query: queryText('Parameters with default values are left out.'),
    user_id: Type.Union([Type.Integer(), Type.Null()], {
      title: 'SavedReportUser',
      description: 'User who saved the report. `null` if an API key saved it, or if the user was removed.',
    }),
  },
  { title: 'SavedReport' },
);
const newReport = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: maxNameLength, pattern: '\\S' }),
    query: queryText('Unknown parameters and values are ignored.'),
  },
  { title: 'NewSavedReport', additionalProperties: false },
);
const listAnswer = Type.Object(
  { message: Type.String(), data: Type.Array(savedReport) },
  { title: 'SavedReportsAnswer' },
);
const oneAnswer = Type.Object({ message: Type.String(), data: savedReport }, { title: 'SavedReportAnswer' });
const runAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      from: Type.String({ format: 'date' }),
      to: Type.String({ format: 'date' }),
      time_zone: Type.String(),
      rows: Type.Array(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()])), {
        description:
          'Rows with the columns of the CSV file. Rates are percentages, in columns that end with `_percent`. A row ' +
          'with amounts in several currencies appears once for each currency.',
      }),
    }),
  },
  { title: 'SavedReportRun' },
);
const runQuery = Type.Object({
  ...publisherQuery.properties,
  format: Type.Optional(
    Type.Unsafe<'json' | 'csv'>({ type: 'string', enum: ['json', 'csv'], description: 'Defaults to `json`.' }),
  ),
});

type RouteDeps = { pool: pg.Pool; now: () => number; reports: ReportService; http: ManagementHttp };

/** Registers the routes for saved reports (docs/guides/reports.md#saved-and-scheduled-reports). */
export async function savedReportRoutes(app: App, { pool, now, reports, http }: RouteDeps): Promise<void> {
  const hooks = requirePermission(http, 'reports');
  const listSchema = {
    operationId: 'listSavedReports',
    summary: 'List saved reports',
    description: `Returns the publisher's saved reports by name. There are at most ${maxReports}.`,
    tags,
    querystring: publisherQuery,
    response: { 200: listAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get(path, { schema: listSchema, ...hooks }, async (request, reply) => {
    const saved = await listSavedReports(pool, callOf(request).publisherId);
    reply.header('cache-control', 'no-store');
    return { message: 'Saved reports found.', data: saved.map(viewOf) };
  });

  const createSchema = {
    operationId: 'createSavedReport',
    summary: 'Save a report',
    description:
      'Saves a report, which then also appears on the report page. Fails with 409 if the name is in use, or if there ' +
      `are already ${maxReports} saved reports.`,
    tags,
    querystring: publisherQuery,
    headers: idempotencyKey,
    body: newReport,
    response: { 201: oneAnswer, ...errorAnswers(400, 401, 403, 404, 409, 422) },
  };
  app.post<{ Body: Static<typeof newReport> }>(
    path,
    { schema: createSchema, ...strictBody, ...hooks },
    (request, reply) =>
      post(http, request, reply, async ({ executor, publisherId, nowMs }) => {
        const name = request.body.name.trim();
        const query = queryOf(readQuery(request.body.query));
        const report = { publisherId, userId: null, name, query, mayReplaceAll: false };
        if (!(await saveReport(executor, report, nowMs)))
          throw new AppError('conflict', { message: problem('savedReportTaken', { max: maxReports }) });
        const saved = (await listSavedReports(executor, publisherId)).find((row) => row.name === name) as SavedReport;
        return { status: 201, body: { message: 'Report saved.', data: viewOf(saved) }, headers: {} };
      }),
  );

  const removeSchema = {
    operationId: 'deleteSavedReport',
    summary: 'Delete a saved report',
    description: 'Deletes the report and its schedules.',
    tags,
    params,
    querystring: publisherQuery,
    response: {
      200: Type.Object({ message: Type.String() }, { title: 'SavedReportDeleted' }),
      ...errorAnswers(401, 403, 404),
    },
  };
  app.delete<IdRoute>(`${path}/:id`, { schema: removeSchema, ...hooks }, async (request) => {
    const { publisherId } = callOf(request);
    if (!(await removeReport(pool, { publisherId, id: idOf(request.params), ofUser: null }))) throw notFound('report');
    return { message: 'Saved report deleted.' };
  });

  const runSchema = {
    operationId: 'runSavedReport',
    summary: 'Run a saved report',
    description: 'Returns the current rows of the report, as JSON or as the CSV file of the report page.',
    tags,
    params,
    querystring: runQuery,
    response: {
      200: {
        description: 'Rows of the report.',
        content: { 'application/json': { schema: runAnswer }, 'text/csv': { schema: Type.String() } },
      },
      ...errorAnswers(400, 401, 403, 404),
    },
  };
  app.get<IdRoute>(`${path}/:id/run`, { schema: runSchema, ...hooks }, async (request, reply) => {
    const { publisherId } = callOf(request);
    const publisher = callerOf(request).snapshot.publishers.get(publisherId);
    const saved = (await listSavedReports(pool, publisherId)).find(({ id }) => id === idOf(request.params));
    if (publisher === undefined || saved === undefined) throw notFound('report');
    return inLanguage('en', () => run({ reports, now }, request, reply, { publisher, saved }));
  });
}

const viewOf = ({ id, name, query, userId }: SavedReport): Static<typeof savedReport> => ({
  id,
  name,
  query: query.replace(/^\?/, ''),
  user_id: userId,
});

type Target = { publisher: Publisher; saved: SavedReport };

async function run(
  { reports, now }: { reports: ReportService; now: () => number },
  request: FastifyRequest,
  reply: FastifyReply,
  { publisher, saved }: Target,
): Promise<FastifyReply> {
  const { snapshot } = callerOf(request);
  const state: ExplorerState = readQuery(saved.query);
  const names = namesOf(snapshot, publisher);
  const asOf = reports.asOf();
  const answer = await answerOf(reports, { state, publisher, names, nowMs: now() }, request.signal);
  if ('text' in answer) throw new AppError('invalid_request', { message: problem('verbatim', { text: answer.text }) });
  const options = { names, currency: currencyOfAnswer(answer, snapshot, publisher.id) };
  const { from, to } = answer.periods.days;
  reply.headers({ 'cache-control': 'no-store', ...asOfHeader(asOf) });
  if ((request.query as Static<typeof runQuery>).format === 'csv')
    return reply
      .header('content-disposition', `attachment; filename="report-${from}-${to}.csv"`)
      .type('text/csv; charset=utf-8')
      .send(toReportCsv(state, answer, options));
  const { id, name } = saved;
  const data = { id, name, from, to, time_zone: publisher.timeZone, rows: rowsOf(state, answer, options) };
  return reply.send({ message: 'Report finished.', data });
}

/** Returns the rows of a report as objects. Cells without a value are null. */
function rowsOf(
  state: ExplorerState,
  answer: ReportAnswer,
  options: Parameters<typeof reportTable>[2],
): Record<string, string | number | null>[] {
  const { headings, lines } = reportTable(state, answer, options);
  return lines.map((line) =>
    Object.fromEntries(headings.map((heading, index) => [heading, line[index] === '' ? null : (line[index] ?? null)])),
  );
}
