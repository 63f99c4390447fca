import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import { hotAnswer } from '../../platform/http/hot-routes.ts';

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
export const image = hotAnswer(200, imageHeaders, png);
/** The answer to a bad, expired or foreign token. */
export const badTokenImage = hotAnswer(400, imageHeaders, png);

/** Answers a bad token with the image and 400, or 429 after too many failures of this address. */
export function refuseToken(failures: FailureLimit, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const limited = failures.charge(request.ip);
  if (limited !== null) throw limited;
  return sendImage(reply.code(400));
}

/** An image answer in the API reference. */
export const imageAnswer = (description: string) => ({
  description,
  content: { 'image/png': { schema: Type.String({ format: 'binary' }) } },
});

export const badTokenAnswer = imageAnswer(
  'The token is bad, expired or foreign: the same image, and nothing is recorded.',
);

export const tokenParameter = Type.String({ description: 'Signed token of the offer in its session.' });
