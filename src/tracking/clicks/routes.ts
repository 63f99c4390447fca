import { Type } from '@sinclair/typebox';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Config } from '../../config.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type ErrorPages, isOpened } from '../../platform/http/error-pages.ts';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import { unvalidated } from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { badTokenAnswer, refuseToken, tokenParameter, trackingHeaders } from '../beacons/routes.ts';
import type { TrackedRequest, VerifyToken } from '../verify-token.ts';
import type { FollowClick } from './follow.ts';

type ClickDeps = {
  catalog: CatalogStore;
  config: Config;
  failures: FailureLimit;
  verify: VerifyToken;
  follow: FollowClick;
};

const errorPages: ErrorPages = { invalid_token: 'endUser.errors.offerGone' };

const clickQuery = Type.Object({
  t: Type.Optional(tokenParameter),
  save_for_later: Type.Optional(Type.String({ description: '1 saves the offer in the wallet instead.' })),
});

const redirect = {
  description:
    'Redirect to the landing page with the click ID, or with `save_for_later=1` to the page that saves the offer.',
};

const noDestination = { description: 'Response to HEAD requests and prefetches, which record no click.' };

const schema = {
  operationId: 'followOffer',
  summary: 'Follow an offer',
  description: 'Records the click and redirects to the landing page of the offer.',
  tags: ['Tracking'],
  security: [],
  querystring: clickQuery,
  response: { 204: noDestination, 302: redirect, 400: badTokenAnswer, ...errorAnswers() },
};

/**
 * Registers the route that redirects a click to its landing page
 * (docs/reference/tracking-and-conversions.md#tracking-urls).
 */
export async function clickRoutes(app: App, { catalog, config, failures, verify, follow }: ClickDeps): Promise<void> {
  /** Whether the user can save the offer to the wallet. A click on a QR code has no user. */
  const isSaveable = ({ offer, event: { claims } }: TrackedRequest): boolean =>
    claims.sessionId !== null &&
    offer.walletEnabled &&
    catalog.current().publishers.get(claims.publisherId)?.walletEnabled === true;

  // Skip validation: the response to a malformed query must be the image, not a validation error.
  app.get('/sdk/offer-click', { schema, ...unvalidated, config: { errorPages } }, async (request, reply) => {
    const { t, save_for_later } = request.query as Record<string, unknown>;
    const tracked = await verify(request, t, 'click');
    if (tracked === null && isOpened(request)) throw new AppError('invalid_token');
    if (tracked === null) return refuseToken(failures, request, reply);
    if (tracked.isSpeculative) return reply.code(204).headers(trackingHeaders).send();
    const save = save_for_later === '1' && isSaveable(tracked);
    const location = save ? `${config.publicUrl}/wallet/v1/save.json?t=${tracked.token}` : await follow(tracked);
    return reply.code(302).headers(trackingHeaders).header('location', location).send();
  });
}
