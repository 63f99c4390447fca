import type { Renderer } from '../render/render.ts';
import type { SessionRecord } from '../session-record.ts';
import type { PendingFetch } from './pending-fetch.ts';

export type DecidedFetch = { pending: PendingFetch; session: SessionRecord };

/** A session with its answer; null for an offerwall, which is rendered page by page. */
export type FetchResult = { session: SessionRecord; answer: Buffer | null };

/** A result, or why its answer could not be rendered. */
export type RenderedFetch = FetchResult | Promise<FetchResult>;

type ShownSession = Pick<SessionRecord, 'id' | 'dev' | 'pubUserId' | 'usp' | 'offers' | 'macros'>;

/** The answer of a session to its fetch. */
export const renderSession = (renderer: Renderer, { publisher, theme }: PendingFetch, session: ShownSession): Buffer =>
  renderer.render({
    publisher,
    theme,
    sessionId: session.id,
    dev: session.dev,
    hasUser: session.pubUserId !== null,
    usp: session.usp,
    offers: session.offers,
    macros: session.macros,
  });

/**
 * Renders the answers of a batch. One that cannot be rendered fails alone: the others of its batch are committed with
 * it. Synchronous where no QR code has to be made first, as nearly always.
 */
export function renderSessions(
  renderer: Renderer,
  decided: readonly DecidedFetch[],
): RenderedFetch[] | Promise<RenderedFetch[]> {
  const preparing = decided.map(({ pending, session }) =>
    pending.surface.kind === 'unit'
      ? renderer.prepare(pending.publisher, session.offers, session.pubUserId !== null)
      : undefined,
  );
  if (preparing.every((one) => one === undefined)) return decided.map((one) => renderOne(renderer, one));
  return Promise.allSettled(preparing).then((prepared) =>
    prepared.map((one, index) =>
      one.status === 'rejected' ? failure(one.reason) : renderOne(renderer, decided[index] as DecidedFetch),
    ),
  );
}

function renderOne(renderer: Renderer, { pending, session }: DecidedFetch): RenderedFetch {
  try {
    return { session, answer: pending.surface.kind === 'unit' ? renderSession(renderer, pending, session) : null };
  } catch (err) {
    return failure(err);
  }
}

/** A rejection that may be handled later than at once. */
function failure(err: unknown): Promise<never> {
  const failed = Promise.reject(err);
  failed.catch(() => {});
  return failed;
}
