import type { Readable } from 'node:stream';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callOf, fieldsOf, type ManagementHttp, publisherQuery, requirePermission, send } from '../management/http.ts';
import { defaultLimit, maxLimit } from '../management/list.ts';
import { openManagementScope } from '../management/resource-routes.ts';
import { AppError } from '../platform/errors.ts';
import { dryRunView, fileWarning } from '../platform/files/counter.ts';
import { fileQuery, readFileOptions } from '../platform/files/query.ts';
import type { App } from '../platform/http/app.ts';
import { readBytes } from '../platform/http/read-bytes.ts';
import { errorAnswers, integerParameter } from '../platform/http/schemas.ts';
import { problem } from '../platform/problem.ts';
import { listedPool, poolStates } from './pool-list.ts';
import { poolInput, poolView } from './pools.ts';
import { type CouponService, maxUploadBytes } from './service.ts';
import { stockView } from './stock.ts';

const tags = ['Coupons'];
const params = Type.Object({ id: Type.String({ description: 'ID of the offer.' }) });
type OfferRoute = { Params: Static<typeof params> };

const codesPath = '/manage/v1/offers/:id/coupon-codes';
const poolPath = '/manage/v1/offers/:id/coupon-pool';

const codesBody = Type.Object(
  {
    codes: Type.Optional(Type.Array(Type.String(), { description: 'Individual codes, one per user.' })),
    shared: Type.Optional(Type.String({ description: 'One code for all users.' })),
    pattern: Type.Optional(
      Type.String({
        description:
          'Pattern for generated codes: `#` is a digit, `?` a letter, `*` either. All other characters are literal.',
      }),
    ),
    count: Type.Optional(Type.Integer({ description: 'Number of codes to generate from the pattern.' })),
  },
  { title: 'CouponCodes', description: 'Either `codes`, or `shared`, or `pattern` with `count`.' },
);

const loadedAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    ...stockView.properties,
    added: Type.Integer(),
    duplicate_count: Type.Integer({
      description: 'Number of codes that were skipped because the pool contains or contained them.',
    }),
    duplicates: Type.Array(Type.Object({ line: Type.Integer(), code: Type.String() }), {
      description: 'The first 100 duplicate codes.',
    }),
    bad: Type.Integer({ description: 'Number of invalid rows in the file.' }),
    errors: dryRunView.properties.errors,
    warnings: Type.Array(fileWarning),
  }),
});
const addQuery = Type.Object({ ...publisherQuery.properties, ...fileQuery });
const dryRunAnswer = Type.Object({ message: Type.String(), data: dryRunView });
const stockAnswer = Type.Object({ message: Type.String(), data: stockView });
const removedAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({ ...stockView.properties, removed: Type.Integer() }),
});
const poolAnswer = Type.Object({ message: Type.String(), data: poolView });

/** Registers the routes for coupon codes of offers (docs/reference/perks-and-wallet.md#coupons). */
export async function couponRoutes(app: App, deps: RouteDeps): Promise<void> {
  openManagementScope(app);
  codeRoutes(app, deps);
  poolRoutes(app, deps);
}

type RouteDeps = { http: ManagementHttp; service: CouponService };

const shared = { tags, params, querystring: publisherQuery };
const errors = errorAnswers(400, 401, 403, 404);

const poolsQuery = Type.Object({
  ...publisherQuery.properties,
  state: Type.Optional(
    Type.Union(
      poolStates.map((state) => Type.Literal(state)),
      { description: 'Only pools in this state.' },
    ),
  ),
  limit: integerParameter(
    { minimum: 1, maximum: maxLimit },
    { pattern: '^([1-9]\\d?|100)$', description: 'Pools per page, 1 to 100. Defaults to 50.' },
  ),
  cursor: integerParameter(
    { minimum: 1 },
    { pattern: '^\\d{1,9}$', description: '`next_cursor` of the previous page.' },
  ),
});

const poolsAnswer = Type.Object({
  message: Type.String(),
  data: Type.Array(listedPool),
  next_cursor: Type.Union([Type.String(), Type.Null()], {
    description: '`cursor` of the next page. `null` on the last page.',
  }),
});

/** Registers the route that lists all coupon pools of a publisher. */
export async function couponListRoutes(app: App, { http, service }: RouteDeps): Promise<void> {
  const schema = {
    tags,
    querystring: poolsQuery,
    operationId: 'listCouponPools',
    summary: 'List the coupon pools of all offers',
    description: 'Returns the stock and the state of each pool, in the order of the offer IDs.',
    response: { 200: poolsAnswer, ...errorAnswers(400, 401, 403) },
  };
  app.get('/manage/v1/coupon-pools', { schema, ...requirePermission(http, 'offers/management') }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { state, limit = defaultLimit, cursor = 0 } = request.query;
    const pools = await service.list(actor, publisherId);
    const matches = pools.filter(
      (pool) => pool.offer_id > Number(cursor) && (state === undefined || pool.state === state),
    );
    const data = matches.slice(0, Number(limit));
    const last = matches.length > data.length ? data.at(-1) : undefined;
    return { message: 'Coupon pools found.', data, next_cursor: last === undefined ? null : String(last.offer_id) };
  });
}

function codeRoutes(app: App, { http, service }: RouteDeps): void {
  const hooks = requirePermission(http, 'offers/management');
  app.register(async (uploads: App) => {
    // Do not parse the file here: the sender must be authenticated first.
    uploads.addContentTypeParser(['text/csv', 'text/plain'], (_request, payload, done) => done(null, payload));
    const schema = {
      ...shared,
      operationId: 'addCouponCodes',
      summary: 'Add coupon codes',
      description:
        'Adds codes from JSON (up to 1 MB) or a CSV file (`text/csv`, up to 64 MB per call) with a column such ' +
        'as `code` or with one code per line. `?dry_run=true` shows how the file is read (200). If more than 1% ' +
        'of the rows are invalid, nothing is added unless `?partial=true` is set. Duplicate codes are skipped ' +
        'and reported.',
      consumes: ['application/json', 'text/csv'],
      querystring: addQuery,
      body: codesBody,
      response: { 200: dryRunAnswer, 201: loadedAnswer, ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
    };
    uploads.post<OfferRoute>(codesPath, { schema, ...hooks }, async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const { id } = request.params;
      const options = readFileOptions(request.query);
      if (!isFile(request)) {
        if (options.isDryRun) throw new AppError('invalid_request', { details: [noDryRun] });
        const data = await service.add(actor, publisherId, id, fieldsOf(request));
        return send(reply, { status: 201, body: { message: 'Codes added.', data }, headers: {} });
      }
      const bytes = await readBytes(request.body as Readable, limits);
      if (options.isDryRun) {
        const data = await service.checkFile(actor, publisherId, id, bytes, options);
        return send(reply, { status: 200, body: { message: 'File checked.', data }, headers: {} });
      }
      const data = await service.addFile(actor, publisherId, id, bytes, options);
      return send(reply, { status: 201, body: { message: 'Codes added.', data }, headers: {} });
    });
  });

  const getSchema = {
    ...shared,
    operationId: 'getCouponStock',
    summary: 'Count coupon codes',
    description: 'Returns the number of codes of the offer, and how many were given to users and redeemed.',
    response: { 200: stockAnswer, ...errors },
  };
  app.get<OfferRoute>(codesPath, { schema: getSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await service.count(actor, publisherId, request.params.id);
    return send(reply, { status: 200, body: { message: 'Codes counted.', data }, headers: {} });
  });

  const deleteSchema = {
    ...shared,
    operationId: 'removeCouponCodes',
    summary: 'Remove coupon codes',
    description: 'Removes codes that were not given to users. Users keep their codes.',
    response: { 200: removedAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
  };
  app.delete<OfferRoute>(codesPath, { schema: deleteSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await service.removeCodes(actor, publisherId, request.params.id);
    return send(reply, { status: 200, body: { message: 'Codes removed.', data }, headers: {} });
  });
}

function poolRoutes(app: App, { http, service }: RouteDeps): void {
  const hooks = requirePermission(http, 'offers/management');
  const poolSchema = {
    ...shared,
    operationId: 'getCouponPool',
    summary: 'Get the coupon settings',
    description: 'Returns when users get a code, how long it is valid, and what happens when the stock is low.',
    response: { 200: poolAnswer, ...errors },
  };
  app.get<OfferRoute>(poolPath, { schema: poolSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await service.pool(actor, publisherId, request.params.id);
    return send(reply, { status: 200, body: { message: 'Coupon pool found.', data }, headers: {} });
  });

  const patchSchema = {
    ...shared,
    operationId: 'changeCouponPool',
    summary: 'Change the coupon settings',
    description: 'Creates the pool if the offer has none. An offer with an empty pool is paused.',
    body: Type.Partial(poolInput),
    response: { 200: poolAnswer, ...errors },
  };
  app.patch<OfferRoute>(poolPath, { schema: patchSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await service.change(actor, publisherId, request.params.id, fieldsOf(request));
    return send(reply, { status: 200, body: { message: 'Coupon pool changed.', data }, headers: {} });
  });

  const removeSchema = {
    ...shared,
    operationId: 'removeCouponPool',
    summary: 'Remove the coupons of an offer',
    description: 'Removes the pool with its settings and codes. Users keep their codes.',
    response: {
      200: Type.Object({ message: Type.String(), data: Type.Object({ offer_id: Type.Integer() }) }),
      ...errors,
    },
  };
  app.delete<OfferRoute>(poolPath, { schema: removeSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await service.removePool(actor, publisherId, request.params.id);
    return send(reply, { status: 200, body: { message: 'Coupon pool removed.', data }, headers: {} });
  });
}

const noDryRun = { path: '/querystring/dry_run', message: problem('filesOnly') };

const limits = { maxBytes: maxUploadBytes, tooLarge: problem('codeFileSize') };

const isFile = ({ headers }: FastifyRequest): boolean => /^text\//i.test(headers['content-type'] ?? '');
