import { findOwner } from '../../accounts/caller.ts';
import { toAppError } from '../../platform/http/error-handler.ts';
import type { App } from '../../platform/ports.ts';
import type { OfferDeps } from '../ports.ts';

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
