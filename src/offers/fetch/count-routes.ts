import type { App } from '../../platform/http/app.ts';
import { unvalidated } from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { countAnswer } from '../answer-schemas.ts';
import { readWithNotes } from './request.ts';
import { type FetchBody, type FetchOffersQuery, fetchBody, fetchOffersQuery, readBody } from './request-schema.ts';
import { createCallReader, type OfferRoutes, offersAnswer } from './routes.ts';
import type { UnitCalls } from './service.ts';
import { readSeveralPlacements } from './several-placements.ts';
import { createTolerantCheck } from './tolerant-input.ts';

type CountRoutes = OfferRoutes & { offers: UnitCalls };

const schemas = { querystring: fetchOffersQuery, body: fetchBody };
const removeUnreadable = createTolerantCheck({ querystring: fetchOffersQuery, body: readBody });
const url = '/native/v4/any.json';

/** Registers the routes that return how many offers a fetch would get (docs/reference/fetch-offers.md#count-offers). */
export async function countRoutes(scope: App, { auth, offers, hot, observe }: CountRoutes): Promise<void> {
  const readCall = createCallReader(auth, removeUnreadable);
  const handler = hot(scope, observe)(url, async (request) => {
    const caller = readCall(request);
    const preparing = auth.prepare(request);
    const { publisher } = preparing === null ? caller : await preparing;
    const { query, body } = request as { query: FetchOffersQuery; body: FetchBody };
    const several = readSeveralPlacements(request, query, body);
    if (several === null) {
      const fetchRequest = readWithNotes(request, query, body);
      const [count] = await offers.count(publisher, [{ request: fetchRequest }]);
      return answerOf({ count });
    }
    const counts = await offers.count(publisher, several);
    return answerOf({ placements: several.map(({ name }, index) => ({ name, count: counts[index] })) });
  });
  const schema = {
    operationId: 'countOffers',
    summary: 'Count the offers for a fetch',
    description:
      'Returns the number of offers that a fetch with the same body would return now. Creates no session, and ' +
      'counts and reserves nothing.',
    tags: ['Offers'],
    ...schemas,
    response: { 200: countAnswer, ...errorAnswers(400, 401, 403, 413, 415) },
  };
  scope.post(url, { schema, ...unvalidated, config: { effect: 'read', keepsToResources: true } }, handler);
}

const answerOf = (data: object) => offersAnswer(Buffer.from(JSON.stringify({ data })));
