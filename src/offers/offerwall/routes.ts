import { type Static, Type } from '@sinclair/typebox';
import { campaignLimits } from '../../catalog/names.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { unvalidated } from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { fetchOffersAnswer } from '../answer-schemas.ts';
import { clientOf, readWithNotes } from '../fetch/request.ts';
import { fetchOffersBody, fetchOffersQuery } from '../fetch/request-schema.ts';
import { createCallReader, type OfferRoutes, offersAnswer } from '../fetch/routes.ts';
import { createTolerantCheck } from '../fetch/tolerant-input.ts';
import { createOfferwall, type OfferwallSources } from './service.ts';
import type { WallPageRequest } from './wall.ts';

/** Default number of offers per page. `maxLimit` is the highest number that can be requested. */
const defaultLimit = 20;
const maxLimit = 100;

const limitSchema = Type.Union(
  [Type.Integer({ minimum: 1, maximum: maxLimit }), Type.String({ pattern: '^([1-9][0-9]?|100)$' })],
  {
    description: `Offers per page, 1 to ${maxLimit}. Defaults to ${defaultLimit}. In the query or the body.`,
  },
);
const cursorSchema = Type.String({
  maxLength: 128,
  description: '`next_cursor` of the previous page. In the query or the body.',
});

const wallQuery = Type.Object({
  limit: Type.Optional(limitSchema),
  cursor: Type.Optional(cursorSchema),
  q: Type.Optional(
    Type.String({ maxLength: 100, description: 'Search terms. Returns only offers that contain all of them.' }),
  ),
  category: Type.Optional(
    Type.String({ maxLength: campaignLimits.category, description: 'Returns only offers of this category.' }),
  ),
});

const browseQuery = Type.Composite([fetchOffersQuery, wallQuery]);
const browseBody = Type.Object(
  {
    ...fetchOffersBody.properties,
    limit: Type.Optional(limitSchema),
    cursor: Type.Optional(Type.Union([cursorSchema, Type.Null()])),
  },
  { title: 'BrowseOfferwall', additionalProperties: true },
);

const wallAnswer = Type.Object(
  {
    data: Type.Object({
      ...fetchOffersAnswer.properties.data.properties,
      total: Type.Integer({ description: 'Number of offers that match the filter.' }),
      next_cursor: Type.Union([Type.String(), Type.Null()], {
        description: '`cursor` of the next page, or `null` on the last page.',
      }),
      first_cursor: Type.String({
        description: 'Cursor of the first page. Use it to apply another filter to the same offers.',
      }),
      categories: Type.Array(Type.String()),
    }),
  },
  { title: 'Offerwall' },
);

const paths = {
  '/native/v4/offerwall.json': { operationId: 'browseOfferwall', summary: 'Browse the offerwall' },
  '/native/v4/perkswall.json': { operationId: 'browsePerkswall', summary: 'Browse the perkswall' },
  '/native/v2/perkswall.json': { operationId: 'browsePerkswallV2', summary: 'Browse the perkswall (v2)' },
};

const answers = { 200: wallAnswer, ...errorAnswers(400, 401, 403, 413, 415) };

const schemas = { querystring: browseQuery, body: browseBody };
const removeUnreadable = createTolerantCheck(schemas);

/**
 * Registers the offerwall routes, which return all offers that a user may see, page by page
 * (docs/reference/fetch-offers.md#offerwall).
 */
export async function offerwallRoutes(
  scope: App,
  { auth, hot, observe, ...sources }: OfferRoutes & OfferwallSources,
): Promise<void> {
  const wall = createOfferwall(sources);
  const serve = hot(scope, observe);
  const readCall = createCallReader(auth, removeUnreadable);
  const schema = {
    description:
      'Returns all offers that a user can see, one page at a time. All versions of the path respond in the same way.',
    tags: ['Offers'],
    ...schemas,
    response: answers,
  };
  for (const [url, names] of Object.entries(paths)) {
    const handler = serve(url, async (request) => {
      const caller = readCall(request);
      const preparing = auth.prepare(request);
      const { publisher } = preparing === null ? caller : await preparing;
      const query = request.query as Static<typeof browseQuery>;
      const { limit, cursor, ...body } = request.body as Static<typeof browseBody>;
      const readRequest = () => readWithNotes(request, query, body);
      const page = pageRequestOf({
        ...(limit === undefined ? {} : { limit }),
        ...(cursor ? { cursor } : {}),
        ...query,
      });
      return offersAnswer(await wall.browse(publisher, readRequest, page));
    });
    scope.post(url, { schema: { ...schema, ...names }, ...unvalidated }, handler);
  }
}

/** Registers the routes that the hosted page calls. They are authorised by the signed link. */
export async function linkedWallRoutes(app: App, sources: OfferwallSources): Promise<void> {
  const wall = createOfferwall(sources);
  const linkQuery = Type.Composite([Type.Object({ t: Type.Optional(Type.String()) }), wallQuery]);
  app.post('/offerwall/offers.json', { schema: { hide: true, querystring: linkQuery } }, async (request, reply) => {
    const { t, ...query } = request.query;
    const answer = await wall.browseByLink(t, clientOf(request), pageRequestOf(query));
    reply.type('application/json; charset=utf-8').header('cache-control', 'no-store');
    return reply.send(answer as never);
  });
}

function pageRequestOf({ limit, cursor, q, category }: Static<typeof wallQuery>): WallPageRequest {
  const filter = { text: q ?? '', category: category || null };
  if (/\0/.test(filter.text + filter.category)) throw new AppError('invalid_request');
  return { limit: Number(limit ?? defaultLimit), filter, cursor: cursor ?? null };
}
