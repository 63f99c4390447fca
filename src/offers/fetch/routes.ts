import { type HotRoutes, unvalidated } from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { createRequestCheck } from '../../platform/http/validation.ts';
import type { App } from '../../platform/ports.ts';
import { fetchOffersAnswer } from '../answer-schemas.ts';
import { createCallReader, observeOfferCalls, offersAnswer } from '../offer-calls.ts';
import type { OfferDeps } from '../ports.ts';
import { readWithNotices } from './request.ts';
import { type FetchOffersBody, type FetchOffersQuery, fetchOffersBody, fetchOffersQuery } from './request-schema.ts';
import type { OfferService } from './service.ts';

/** Every version answers the same; v4 clients pass the SDK id as `api_key` (docs/interface.md#fetch-offers). */
const paths = {
  '/native/v4/offers.json': 'fetchOffers',
  '/native/v2/offers.json': 'fetchOffersV2',
  '/native/v1/offers.json': 'fetchOffersV1',
};

type OfferRoutes = Pick<OfferDeps, 'auth' | 'catalog' | 'liveCalls' | 'notices' | 'now'> & {
  offers: OfferService;
  hot: HotRoutes;
};

const schemas = { querystring: fetchOffersQuery, body: fetchOffersBody };
const check = createRequestCheck(schemas);

export async function offerRoutes(scope: App, { offers, hot, ...deps }: OfferRoutes): Promise<void> {
  scope.addHook('onClose', offers.drain);
  const serve = hot(scope, observeOfferCalls(deps));
  const readCall = createCallReader(deps.auth, check);
  const schema = {
    summary: 'Fetch offers',
    tags: ['Offers'],
    ...schemas,
    response: { 200: fetchOffersAnswer, ...errorAnswers(400, 401, 403, 413, 415) },
  };
  for (const [url, operationId] of Object.entries(paths)) {
    const handler = serve(url, async (request) => {
      const { publisher } = readCall(request);
      const { query, body } = request as { query: FetchOffersQuery; body: FetchOffersBody };
      const fetchRequest = readWithNotices(request, query, body, deps.notices);
      const answer = await offers.fetch(publisher, fetchRequest, request.trace);
      return { ...offersAnswer(answer), sent: () => offers.release(answer) };
    });
    scope.post(url, { schema: { ...schema, operationId }, ...unvalidated }, handler);
  }
}
