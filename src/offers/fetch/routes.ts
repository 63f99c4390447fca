import { callerOf } from '../../platform/http/auth.ts';
import { absentForNull, emptyBodyForNone } from '../../platform/http/body.ts';
import { errorAnswers, fetchOffersAnswer } from '../../platform/http/schemas.ts';
import type { App, Deps } from '../../platform/ports.ts';
import { clientOf, fetchOffersBody, fetchOffersQuery, readFetchOffers } from './request.ts';
import type { OfferService } from './service.ts';
import { type Failures, openShortWay } from './short-way.ts';

/** Every version answers the same; v4 clients pass the SDK id as `api_key` (docs/interface.md#fetch-offers). */
const paths = ['/native/v2/offers.json', '/native/v4/offers.json', '/native/v1/offers.json'];

export async function offerRoutes(app: App, { offers, ...deps }: Deps & { offers: OfferService }): Promise<void> {
  app.addHook('onClose', offers.drain);
  const failures: Failures = new WeakMap();
  if (!deps.logger.isLevelEnabled('debug')) openShortWay(app, paths, { ...deps, offers, failures }); // the framework writes the request log
  for (const url of paths) {
    app.post(
      url,
      {
        schema: {
          summary: 'Fetch offers',
          tags: ['Offers'],
          querystring: fetchOffersQuery,
          body: fetchOffersBody,
          response: { 200: fetchOffersAnswer, ...errorAnswers(400, 401, 403, 413, 415) },
        },
        // What failed on the short way is answered without another try.
        onRequest: (request, _reply, done) => done(failures.get(request.raw)),
        preValidation: [emptyBodyForNone, absentForNull, deps.auth.requireKey('ads/offers')],
      },
      async (request, reply) => {
        const wanted = readFetchOffers(request.query, request.body, clientOf(request));
        const answer = await offers.fetch(callerOf(request).publisher, wanted);
        reply.type('application/json; charset=utf-8').header('cache-control', 'no-store');
        reply.raw.once('finish', () => offers.release(answer));
        return reply.send(answer as never);
      },
    );
  }
}
