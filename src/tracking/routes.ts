import type { FastifyRequest } from 'fastify';
import type { CatalogDeps } from '../catalog/ports.ts';
import { AppError } from '../platform/errors.ts';
import { type ErrorPages, isOpened } from '../platform/http/error-pages.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import type { App } from '../platform/ports.ts';
import { openShortWay } from './beacons/hot-routes.ts';
import { beacons } from './beacons/kinds.ts';
import {
  badTokenAnswer,
  clickQuery,
  recordedAnswer,
  refuseToken,
  sendImage,
  sendRedirect,
  tokenQuery,
} from './beacons/pixel-answer.ts';
import { createRecorder } from './beacons/recorder.ts';
import { createClicks } from './clicks/follow.ts';
import { createAdmission, type Visit } from './verify-token.ts';

/** An odd query is answered with the image, not with an error of the validator: the schema is for the document only. */
const unvalidated = { validatorCompiler: () => () => true };

const tokenOf = ({ query }: FastifyRequest): unknown => (query as { t?: unknown }).t;

const errorPages: ErrorPages = {
  invalid_token: {
    title: 'This offer is gone',
    text: 'The link is incomplete or has expired. Look for the offer where you found it.',
  },
};

/** The image beacons and the click redirect (docs/interface.md#tracking). */
export async function trackingRoutes(app: App, deps: CatalogDeps): Promise<void> {
  const { catalog, config, failures } = deps;
  const admit = createAdmission(deps);
  const recorder = createRecorder(deps);
  const follow = createClicks(deps, recorder);
  app.addHook('onClose', recorder.drain);
  if (!deps.logger.isLevelEnabled('debug')) openShortWay(app, beacons, { ...deps, admit, recorder }); // the framework writes the request log

  for (const { url, summary, kind, store } of beacons) {
    const response = { 200: recordedAnswer, 400: badTokenAnswer, ...errorAnswers() };
    const schema = { summary, tags: ['Tracking'], querystring: tokenQuery, response };
    app.get(url, { schema, ...unvalidated }, async (request, reply) => {
      const visit = admit(request.raw, tokenOf(request), kind);
      if (visit === null) return refuseToken(failures, request, reply);
      if (visit.recorded) await store(recorder, visit);
      return sendImage(reply);
    });
  }

  /** Whether the offer may be kept. A QR code belongs to nobody who could keep it. */
  const isSaveable = ({ offer, event: { claims } }: Visit): boolean =>
    claims.sessionId !== null &&
    offer.walletEnabled &&
    catalog.current().publishers.get(claims.publisherId)?.walletEnabled === true;

  const response = {
    302: {
      description: 'To the landing page, with the click id; with `save_for_later=1`, to the page that keeps the offer.',
    },
    400: badTokenAnswer,
    ...errorAnswers(),
  };
  const schema = { summary: 'Follow an offer', tags: ['Tracking'], querystring: clickQuery, response };
  app.get('/sdk/offer-click', { schema, ...unvalidated, config: { errorPages } }, async (request, reply) => {
    const visit = admit(request.raw, tokenOf(request), 'click');
    if (visit === null && isOpened(request)) throw new AppError('invalid_token'); // who opens a link is told so in words
    if (visit === null) return refuseToken(failures, request, reply);
    const save = (request.query as { save_for_later?: unknown }).save_for_later === '1' && isSaveable(visit);
    return sendRedirect(reply, save ? `${config.publicUrl}/wallet/v1/save.json?t=${visit.token}` : await follow(visit));
  });
}
