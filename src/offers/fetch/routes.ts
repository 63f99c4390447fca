import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../accounts/caller.ts';
import { forLimitedKeys } from '../../management/http.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { requireKnownEncoding } from '../../platform/http/body-parsing.ts';
import {
  type HotAnswer,
  type HotObserver,
  type HotRoutes,
  hotHead,
  type Pieces,
  unvalidated,
} from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { fetchAnswer } from '../answer-schemas.ts';
import { notesOf, readWithNotes } from './request.ts';
import { type FetchBody, type FetchOffersQuery, fetchBody, fetchOffersQuery, readBody } from './request-schema.ts';
import type { OfferService } from './service.ts';
import { readSeveralPlacements } from './several-placements.ts';
import { createTolerantCheck } from './tolerant-input.ts';

/**
 * Paths of fetch-offers. All versions return the same response. v4 clients pass the SDK ID as `api_key`
 * (docs/reference/fetch-offers.md#request).
 */
const paths = {
  '/native/v4/offers.json': { operationId: 'fetchOffers', summary: 'Fetch offers' },
  '/native/v2/offers.json': { operationId: 'fetchOffersV2', summary: 'Fetch offers (v2)' },
  '/native/v1/offers.json': { operationId: 'fetchOffersV1', summary: 'Fetch offers (v1)' },
};

/** Dependencies of the offer routes. `observe` logs requests to these routes. */
export type OfferRoutes = { auth: Authenticator<Caller>; hot: HotRoutes; observe: HotObserver };

const schemas = { querystring: fetchOffersQuery, body: fetchBody };
const removeUnreadable = createTolerantCheck({ querystring: fetchOffersQuery, body: readBody });

export async function offerRoutes(
  scope: App,
  { auth, offers, hot, observe }: OfferRoutes & { offers: OfferService },
): Promise<void> {
  scope.addHook('onClose', offers.drain);
  const serve = hot(scope, observe);
  const readCall = createCallReader(auth, removeUnreadable);
  const schema = {
    description:
      'Selects the offers for one user at one or several placements. All versions of the path respond in the ' +
      'same way.',
    tags: ['Offers'],
    ...schemas,
    response: { 200: fetchAnswer, ...errorAnswers(400, 401, 403, 413, 415) },
  };
  for (const [url, names] of Object.entries(paths)) {
    const handler = serve(url, async (request) => {
      const caller = readCall(request);
      const preparing = auth.prepare(request);
      const { publisher } = preparing === null ? caller : await preparing;
      const { query, body } = request as { query: FetchOffersQuery; body: FetchBody };
      const several = readSeveralPlacements(request, query, body);
      if (several === null) {
        const fetchRequest = readWithNotes(request, query, body);
        return offersAnswer(await offers.fetch(publisher, fetchRequest, request.trace));
      }
      return offersAnswer(await offers.fetchSeveral(publisher, several, request.trace));
    });
    scope.post(url, { schema: { ...schema, ...names }, ...unvalidated, ...forLimitedKeys }, handler);
  }
}

/**
 * Creates a hook that authenticates an offers call and sets `request.caller`. It also removes unreadable values from
 * the body and query.
 */
export const createCallReader =
  ({ identify }: Authenticator<Caller>, removeUnreadable: ReturnType<typeof createTolerantCheck>) =>
  (request: FastifyRequest): Caller => {
    requireKnownEncoding(request.headers);
    const caller = identify(request, 'ads/offers');
    request.caller = caller;
    removeUnreadable(request, notesOf(request));
    return caller;
  };

const head = hotHead({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });

export const offersAnswer = (body: Buffer | Pieces): HotAnswer => ({
  status: 200,
  head: [...head, 'content-length', String(body.length)],
  body,
});
