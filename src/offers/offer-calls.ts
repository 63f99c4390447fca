import type { FastifyRequest } from 'fastify';
import type { Caller } from '../accounts/caller.ts';
import { dropNulls, requireKnownEncoding } from '../platform/http/body-parsing.ts';
import { type HotAnswer, type HotObserver, hotHead } from '../platform/http/hot-routes.ts';
import type { createRequestCheck } from '../platform/http/validation.ts';
import { recordLiveCall } from './live-calls/live-calls.ts';
import { noteRefusal } from './notices/note-refusals.ts';
import type { OfferDeps } from './ports.ts';

/** Checks key, body and query of a call for offers, and sets `request.caller`. `null` counts as absent in a body. */
export const createCallReader =
  ({ identify }: OfferDeps['auth'], check: ReturnType<typeof createRequestCheck>) =>
  (request: FastifyRequest): Caller => {
    requireKnownEncoding(request.headers);
    request.body ??= {};
    dropNulls(request.body);
    const caller = identify(request, 'ads/offers');
    request.caller = caller;
    check(request);
    return caller;
  };

/** Refused calls become notices, and calls of watched publishers are recorded. */
export const observeOfferCalls = (deps: Pick<OfferDeps, 'catalog' | 'liveCalls' | 'notices' | 'now'>): HotObserver => ({
  failed: (request, err) => noteRefusal(request, err, deps),
  answered: (request, { status, body }, ms) => recordLiveCall(request, { status, ms, body }, deps),
});

const head = hotHead({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });

export const offersAnswer = (body: Buffer): HotAnswer => ({
  status: 200,
  head: [...head, 'content-length', String(body.length)],
  body,
});
