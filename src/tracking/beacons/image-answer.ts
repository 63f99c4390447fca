import type { FastifyReply, FastifyRequest } from 'fastify';
import { directAnswer } from '../../platform/http/direct-routes.ts';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';

/** 1×1, transparent. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=',
  'base64',
);

/** Headers of every answer to a tracking URL: any page may load it, and no cache may keep it. */
export const trackingHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
};
const imageHeaders = { 'content-type': 'image/png', ...trackingHeaders };

export const sendImage = (reply: FastifyReply): FastifyReply => reply.headers(imageHeaders).send(png);

/** What a beacon is answered. */
export const image = directAnswer(200, imageHeaders, png);
/** The answer to a bad, expired or foreign token. */
export const badTokenImage = directAnswer(400, imageHeaders, png);

/** Answers a bad token with the image and 400, or 429 after too many failures of this address. */
export function refuseToken(failures: FailureLimit, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const limited = failures.charge(request.ip);
  if (limited !== null) throw limited;
  return sendImage(reply.code(400));
}
