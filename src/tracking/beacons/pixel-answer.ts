import type { ServerResponse } from 'node:http';
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import { createFixedAnswer } from '../../platform/http/fixed-answer.ts';

/** 1×1, transparent. */
const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=',
  'base64',
);

const headers = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
};
const imageHeaders = { 'content-type': 'image/png', ...headers };

export const sendImage = (reply: FastifyReply): FastifyReply => reply.headers(imageHeaders).send(image);

/** The same answer past the framework. */
export const createImageAnswer = (): ((response: ServerResponse) => void) =>
  createFixedAnswer(imageHeaders, image.toString('latin1'));

export const sendRedirect = (reply: FastifyReply, location: string): FastifyReply =>
  reply.code(302).headers(headers).header('location', location).send();

/** Answers a bad token like a good one but for the status, or 429 where too many came from this address. */
export function refuseToken(failures: FailureLimit, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const limited = failures.charge(request.ip);
  if (limited !== null) throw limited;
  return sendImage(reply.code(400));
}

const imageAnswer = (description: string) => ({
  description,
  content: { 'image/png': { schema: Type.String({ format: 'binary' }) } },
});

export const recordedAnswer = imageAnswer('Recorded, now or earlier.');
export const badTokenAnswer = imageAnswer(
  'The token is bad, expired or foreign: the same image, and nothing is recorded.',
);

export const tokenQuery = Type.Object({
  t: Type.Optional(Type.String({ description: 'Signed token of the offer in its session.' })),
  cbuster: Type.Optional(Type.String({ description: 'Anything; keeps caches away.' })),
});
export const clickQuery = Type.Object({
  t: tokenQuery.properties.t,
  save_for_later: Type.Optional(Type.String({ description: '1: keep the offer in the wallet instead.' })),
});
