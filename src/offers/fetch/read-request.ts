import type { FastifyRequest } from 'fastify';
import { callerOf, findOwner } from '../../catalog/caller.ts';
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
  const note = (path: string, message: string): void => {
    notices.add(publisher.id, { path, message }, false);
    request.notes = [...(request.notes ?? []), { path, message }];
  };
  const read = readFetchOffers(query, body, clientOf(request), note);
  if (read.themeId !== null && findTheme(publisher, read.themeId) === null)
    note('/themeId', 'ignored: there is no theme with this id or key');
  return read;
}

/** Makes a notice of each request that the routes of a plugin refuse, where its key says whose it is. */
export function noteRefusals(
  app: App,
  { catalog, notices, now }: Pick<OfferDeps, 'catalog' | 'notices' | 'now'>,
): void {
  app.addHook('onError', async (request, _reply, err) => {
    const error = toAppError(err);
    if (error.status >= 500 || error.status === 429 || error.status === 401) return;
    const publisher = findOwner(catalog.current(), request, now());
    if (publisher === null) return;
    for (const detail of error.details ?? [{ path: '', message: error.message }])
      notices.add(publisher.id, detail, true);
  });
}
