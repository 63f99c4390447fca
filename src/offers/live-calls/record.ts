import type { FastifyReply, FastifyRequest } from 'fastify';
import { findOwner } from '../../accounts/caller.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import type { App } from '../../platform/ports.ts';
import type { OfferDeps } from '../ports.ts';
import type { LiveCall } from './live-calls.ts';
import { maskAnswer, maskRequest } from './mask.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What was ignored or dropped of the request; null: nothing. */
    notes: ErrorDetail[] | null;
  }
}

/** Longer answers are not shown (bytes). */
const maxAnswerBytes = 256 * 1024;

/**
 * Records the calls of watched publishers, refused ones too, by the key that they present. Costs one comparison a call
 * while nobody watches.
 */
export function recordLiveCalls(
  app: App,
  { liveCalls, catalog, now }: Pick<OfferDeps, 'liveCalls' | 'catalog' | 'now'>,
): void {
  app.decorateRequest('notes', null);
  app.addHook('onSend', (request, reply, payload, done) => {
    if (liveCalls.isAnyWatched() && request.routeOptions.url !== undefined) {
      const publisherId = findOwner(catalog.current(), request, now())?.id ?? null;
      if (publisherId !== null && liveCalls.isWatched(publisherId))
        liveCalls.add(publisherId, () => callOf(request, reply, payload));
    }
    done(null, payload);
  });
}

function callOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): LiveCall {
  const { shown: query, hiddenTexts: ofQuery } = maskRequest(request.query);
  const { shown: body, hiddenTexts: ofBody } = maskRequest(request.body);
  const given = parsed(payload) as { error?: LiveCall['error']; data?: { session_id?: unknown } } | null;
  const sessionId = given?.data?.session_id;
  const answer = maskAnswer(given, new Set([...ofQuery, ...ofBody])) as typeof given;
  return {
    method: request.method,
    path: request.url.split('?', 1)[0] as string,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    query,
    body: body ?? null,
    answer,
    error: reply.statusCode >= 400 ? (answer?.error ?? null) : null,
    notes: request.notes ?? [],
    sessionId: typeof sessionId === 'string' ? sessionId : null,
  };
}

/** The answer as an object; null: it is no JSON, or too long. */
function parsed(payload: unknown): object | null {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return null;
  if (payload.length > maxAnswerBytes) return null;
  try {
    const value: unknown = JSON.parse(payload.toString());
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
