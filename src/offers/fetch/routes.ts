import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../accounts/caller.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import { forLimitedKeys } from '../../management/http.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { requireKnownEncoding } from '../../platform/http/body-parsing.ts';
import {
  bytesOf,
  type HotAnswer,
  type HotObserver,
  type HotRoutes,
  hotHead,
  type Pieces,
  unvalidated,
} from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { fetchAnswer } from '../answer-schemas.ts';
import { type LiveCalls, recordLiveCall } from '../live-calls/live-calls.ts';
import { noteRefusal } from '../notices/note-refusals.ts';
import type { Notices } from '../notices/notices.ts';
import { noticesOf, readWithNotices } from './request.ts';
import { type FetchBody, type FetchOffersQuery, fetchBody, fetchOffersQuery, readBody } from './request-schema.ts';
import type { OfferService } from './service.ts';
import { readSeveralPlacements } from './several-placements.ts';
import { createTolerantCheck } from './tolerant-input.ts';

/**
 * Paths of fetch-offers. All versions have the same response; v4 clients pass the SDK id as `api_key`
 * (docs/reference/fetch-offers.md#request).
 */
const paths = {
  '/native/v4/offers.json': { operationId: 'fetchOffers', summary: 'Fetch offers' },
  '/native/v2/offers.json': { operationId: 'fetchOffersV2', summary: 'Fetch offers (v2)' },
  '/native/v1/offers.json': { operationId: 'fetchOffersV1', summary: 'Fetch offers (v1)' },
};

/** Records of calls for offers: notices of rejected values, and live calls. */
export type CallRecords = { catalog: CatalogStore; liveCalls: LiveCalls; notices: Notices; now: () => number };

type OfferRoutes = CallRecords & { auth: Authenticator<Caller>; offers: OfferService; hot: HotRoutes };

const schemas = { querystring: fetchOffersQuery, body: fetchBody };
const removeUnreadable = createTolerantCheck({ querystring: fetchOffersQuery, body: readBody });

export async function offerRoutes(scope: App, { auth, offers, hot, ...records }: OfferRoutes): Promise<void> {
  const { notices } = records;
  scope.addHook('onClose', offers.drain);
  const serve = hot(scope, observeOfferCalls(records));
  const readCall = createCallReader(auth, removeUnreadable, notices);
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
      const { publisher } = readCall(request);
      const { query, body } = request as { query: FetchOffersQuery; body: FetchBody };
      const several = readSeveralPlacements(request, query, body, notices);
      if (several === null) {
        const fetchRequest = readWithNotices(request, query, body, notices);
        return offersAnswer(await offers.fetch(publisher, fetchRequest, request.trace));
      }
      return offersAnswer(await offers.fetchSeveral(publisher, several, request.trace));
    });
    scope.post(url, { schema: { ...schema, ...names }, ...unvalidated, ...forLimitedKeys }, handler);
  }
}

/**
 * Creates a hook that checks the key of a call for offers, sets `request.caller`, and removes unreadable values from
 * body and query.
 */
export const createCallReader =
  ({ identify }: Authenticator<Caller>, removeUnreadable: ReturnType<typeof createTolerantCheck>, notices: Notices) =>
  (request: FastifyRequest): Caller => {
    requireKnownEncoding(request.headers);
    const caller = identify(request, 'ads/offers');
    request.caller = caller;
    removeUnreadable(request, noticesOf(request, notices));
    return caller;
  };

/** Records rejected calls as notices, and calls of watched publishers as live calls. */
export const observeOfferCalls = (records: CallRecords): HotObserver => ({
  failed: (request, err) => noteRefusal(request, err, records),
  answered: (request, { status, body }, ms) =>
    recordLiveCall(request, { status, ms, body: () => bytesOf(body) }, records),
});

const head = hotHead({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });

export const offersAnswer = (body: Buffer | Pieces): HotAnswer => ({
  status: 200,
  head: [...head, 'content-length', String(body.length)],
  body,
});
