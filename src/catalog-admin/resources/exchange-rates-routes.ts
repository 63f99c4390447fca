import { type Static, Type } from '@sinclair/typebox';
import {
  callOf,
  fieldsOf,
  type ManagementHttp,
  publisherIdParameter,
  publisherQuery,
  requirePermission,
  send,
} from '../../management/http.ts';
import { ifMatch } from '../../management/resource-routes.ts';
import { AppError } from '../../platform/errors.ts';
import { dryRunView } from '../../platform/files/counter.ts';
import { fileQuery, readFileOptions } from '../../platform/files/query.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { isCurrency } from '../../platform/money.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { importRates, maxRateFileBytes, type RateFileOptions } from './exchange-rate-file.ts';
import { exchangeRatesInput, exchangeRatesView, getExchangeRates, setExchangeRates } from './exchange-rates.ts';
import { publishers } from './publishers.ts';

const path = '/manage/v1/exchange-rates';
const tags = ['Publishers'];
const answer = Type.Object({ message: Type.String(), data: exchangeRatesView }, { title: 'ExchangeRatesAnswer' });

const importQuery = Type.Object({
  publisher_id: publisherIdParameter,
  dry_run: fileQuery.dry_run,
  partial: fileQuery.partial,
  base: Type.Optional(
    Type.String({
      description: 'Base currency of the rates. Defaults to the column `base` of the file, or else to the stored base.',
    }),
  ),
  decimal: Type.Optional(Type.String({ description: 'Decimal separator of the file: `point` (default) or `comma`.' })),
  replace: Type.Optional(Type.String({ description: '`true` removes stored rates that are not in the file.' })),
});
const importAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object(
    {
      dry_run: Type.Boolean(),
      base: Type.String(),
      changed: Type.Integer({ description: 'Number of rates that were added or changed.' }),
      removed: Type.Integer({ description: 'Number of stored rates that were removed.' }),
      ...dryRunView.properties,
    },
    { title: 'ImportedExchangeRates' },
  ),
});

/**
 * Registers the routes for a publisher's exchange rates, which are used for converted totals, payouts in other
 * currencies, and ranking.
 */
export function exchangeRatesRoutes(app: App, http: ManagementHttp): void {
  const hooks = requirePermission(http, publishers.permission);
  const getSchema = {
    operationId: 'getExchangeRates',
    summary: "List a publisher's exchange rates",
    description: 'Returns all rates with their base currency and the reporting currency, with an ETag.',
    tags,
    querystring: publisherQuery,
    response: { 200: answer, ...errorAnswers(401, 403, 404) },
  };
  app.get(path, { schema: getSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { view, etag } = await http.management.readMoment(actor, publisherId, getExchangeRates);
    return send(reply, { status: 200, body: { message: 'Exchange rates found.', data: view }, headers: { etag } });
  });

  const putSchema = {
    operationId: 'setExchangeRates',
    summary: "Replace a publisher's exchange rates",
    description:
      'Replaces all rates. A rate applies from its day until the next rate of the same currency. Booked amounts ' +
      'do not change, but converted totals in reports do.',
    tags,
    querystring: publisherQuery,
    headers: ifMatch,
    body: Type.Partial(exchangeRatesInput),
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404, 412) },
  };
  app.put(path, { schema: putSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const match = request.headers['if-match'] ?? null;
    const { view, etag } = await http.management.write(actor, publisherId, (work) =>
      setExchangeRates(work, fieldsOf(request), match),
    );
    return send(reply, { status: 200, body: { message: 'Exchange rates saved.', data: view }, headers: { etag } });
  });

  const importSchema = {
    operationId: 'importExchangeRates',
    summary: "Import a publisher's exchange rates",
    description:
      'Imports a CSV file of up to 4 MB with the columns `currency`, `rate` and `valid_from`, or with ' +
      '`valid_from` and one column per currency, as published by the European Central Bank. The rates are added ' +
      'to the stored ones. If more than 1% of the rows are invalid, nothing is stored unless `?partial=true` is ' +
      'set. `?dry_run=true` shows how the file is read and stores nothing.',
    tags,
    querystring: importQuery,
    consumes: ['text/csv'],
    body: Type.String({ description: 'CSV file.' }),
    response: { 200: importAnswer, ...errorAnswers(400, 401, 403, 404, 413, 415) },
  };
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(['text/csv', 'text/plain'], { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    const route = { schema: importSchema, bodyLimit: maxRateFileBytes, ...hooks };
    scope.post<{ Querystring: Static<typeof importQuery> }>(`${path}/import`, route, async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const options = readRateFileOptions(request.query);
      const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const run = options.isDryRun ? http.management.read : http.management.write;
      const { file, ...data } = await run(actor, publisherId, (work) => importRates(work, bytes, options));
      const message = options.isDryRun ? 'File checked.' : 'Exchange rates imported.';
      reply.header('cache-control', 'no-store');
      return reply.send({ message, data: { dry_run: options.isDryRun, ...data, ...file } });
    });
  });
}

/**
 * Parses the query parameters of an import.
 * @throws AppError invalid_request
 */
function readRateFileOptions(query: Static<typeof importQuery>): RateFileOptions {
  const { isDryRun, isPartial } = readFileOptions(query);
  const base = (query.base ?? '').trim().toUpperCase();
  if (base !== '' && !isCurrency(base)) throw refuse('base', problem('currencyIso'));
  const { decimal = 'point', replace = 'false' } = query;
  if (decimal !== 'point' && decimal !== 'comma')
    throw refuse('decimal', problem('oneOf', { choices: 'point, comma' }));
  if (replace !== 'true' && replace !== 'false') throw refuse('replace', problem('isBoolean'));
  return {
    isDryRun,
    isPartial,
    base: base === '' ? null : base,
    hasDecimalComma: decimal === 'comma',
    replaces: replace === 'true',
  };
}

const refuse = (name: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path: `/querystring/${name}`, message }] });
