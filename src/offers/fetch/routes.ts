import { callerOf } from '../../accounts/caller.ts';
import { emptyBodyByDefault, nullFieldsAsAbsent } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import { fetchOffersAnswer } from '../answer-schemas.ts';
import { noteRefusals } from '../notices/note-refusals.ts';
import type { OfferDeps } from '../ports.ts';
import { readWithNotices } from './request.ts';
import { fetchOffersBody, fetchOffersQuery } from './request-schema.ts';
import type { OfferService } from './service.ts';

/** Every version answers the same; v4 clients pass the SDK id as `api_key` (docs/interface.md#fetch-offers). */
const paths = {
  '/native/v4/offers.json': 'fetchOffers',
  '/native/v2/offers.json': 'fetchOffersV2',
  '/native/v1/offers.json': 'fetchOffersV1',
};

type OfferRoutes = Pick<OfferDeps, 'auth' | 'catalog' | 'notices' | 'now'> & { offers: OfferService };

export async function offerRoutes(app: App, { auth, offers, ...deps }: OfferRoutes): Promise<void> {
  const { notices } = deps;
  noteRefusals(app, deps);
  app.addHook('onClose', offers.drain);
  const schema = {
    summary: 'Fetch offers',
    tags: ['Offers'],
    querystring: fetchOffersQuery,
    body: fetchOffersBody,
    response: { 200: fetchOffersAnswer, ...errorAnswers(400, 401, 403, 413, 415) },
  };
  const preValidation = [emptyBodyByDefault, nullFieldsAsAbsent, auth.requireKey('ads/offers')];
  for (const [url, operationId] of Object.entries(paths)) {
    app.post(url, { schema: { ...schema, operationId }, preValidation }, async (request, reply) => {
      const fetchRequest = readWithNotices(request, request.query, request.body, notices);
      const answer = await offers.fetch(callerOf(request).publisher, fetchRequest, request.trace);
      reply.raw.once('finish', () => offers.release(answer));
      reply.type('application/json; charset=utf-8').header('cache-control', 'no-store');
      return reply.send(answer as never);
    });
  }
}
