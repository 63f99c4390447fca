import type { FastifyRequest } from 'fastify';
import { findOwner } from '../../accounts/caller.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import { toAppError } from '../../platform/http/error-handler.ts';
import type { Notices } from './notices.ts';

type NoticeDeps = { catalog: CatalogStore; notices: Notices; now: () => number };

/** Adds a notice of a rejected request if its key identifies the publisher. */
export function noteRefusal(request: FastifyRequest, err: unknown, { catalog, notices, now }: NoticeDeps): void {
  const error = toAppError(err);
  if (error.status >= 500 || error.status === 429 || error.status === 401) return;
  const publisher = findOwner(catalog.current(), request, now());
  if (publisher === null) return;
  for (const detail of error.details ?? [{ path: '', message: error.problem }]) notices.add(publisher.id, detail, true);
}
