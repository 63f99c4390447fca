import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../catalog/caller.ts';
import { findTheme } from '../../catalog/snapshot/theme-key.ts';
import { toAppError } from '../../platform/http/error-handler.ts';
import type { App } from '../../platform/ports.ts';
import type { Notices } from '../notices/notices.ts';
import type { OfferDeps } from '../ports.ts';
import { clientOf, type FetchOffersRequest, readFetchOffers } from './request.ts';
import type { FetchOffersBody, FetchOffersQuery } from './request-schema.ts';

/**
 * Reads a fetch-offers request of an identified caller. What is ignored or dropped of it becomes a notice.
 * @throws AppError as `readFetchOffers`
 */
export function readNoted(
  request: FastifyRequest,
  query: FetchOffersQuery,
  body: FetchOffersBody,
  notices: Notices,
): FetchOffersRequest {
  const { publisher } = callerOf(request);
  const note = (path: string, message: string): void => notices.add(publisher.id, { path, message }, false);
  const read = readFetchOffers(query, body, clientOf(request), note);
  if (read.themeId !== null && findTheme(publisher, read.themeId) === null)
    note('/themeId', 'ignored: there is no theme with this id or key');
  return read;
}

/** Makes a notice of each request that the routes of a plugin refuse, where its key says whose it is. */
export function noteRefusals(app: App, { auth, notices }: Pick<OfferDeps, 'auth' | 'notices'>): void {
  app.addHook('onError', async (request, _reply, err) => {
    const error = toAppError(err);
    if (error.status >= 500 || error.status === 429 || error.status === 401) return;
    const publisherId = publisherOf(request, auth);
    if (publisherId === null) return;
    for (const detail of error.details ?? [{ path: '', message: error.message }])
      notices.add(publisherId, detail, true);
  });
}

/** A body that cannot be parsed is refused before the key was looked for. */
function publisherOf(request: FastifyRequest, auth: OfferDeps['auth']): number | null {
  if (request.caller !== null) return callerOf(request).publisher.id;
  try {
    return auth.identify(request, 'ads/offers').publisher.id;
  } catch {
    return null;
  }
}
