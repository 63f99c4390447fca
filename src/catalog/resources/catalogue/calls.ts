import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callOf, withoutApiKey } from '../../../management/http.ts';
import { isOperator } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import { readJsonInSlices } from '../../../platform/http/json-slices.ts';
import { readBytes } from '../../../platform/http/read-bytes.ts';

/*
 * What calls with a catalogue file have in common.
 */

/** Beyond this the command is the way (bytes of a file). */
export const maxBytes = 32 * 1024 * 1024;

const mb = 1024 * 1024;
const limits = {
  rows: 50_000,
  rowBytes: (list: string): number => (list === 'creatives' ? 8 * mb : mb),
  otherwise: 'use the command `catalogue import`',
};

/** @throws AppError malformed_json, body_too_large */
export async function readCatalogueFile(bytes: Buffer): Promise<unknown> {
  const content = await readJsonInSlices(bytes, limits);
  if (Array.isArray(content)) throw new AppError('malformed_json', { message: 'The body must be an object.' });
  return withoutApiKey(content);
}

/** The file that a call sends, which nobody has read so far. @throws AppError as `readCatalogueFile` */
export async function bytesOfFile({ body }: FastifyRequest): Promise<Buffer> {
  return body instanceof Readable ? await readBytes(body, { maxBytes }) : Buffer.alloc(0);
}

export const file = Type.Object(
  {},
  { additionalProperties: true, description: 'A catalogue file; see the guide of the management API.' },
);

/** A catalogue is settings and offers: one needs to be allowed both. */
export function requireBoth(request: FastifyRequest): ReturnType<typeof callOf> {
  const call = callOf(request);
  if (!isOperator(call.actor) && !call.actor.permissions.has('offers/management'))
    throw new AppError('permission_denied', { message: 'The key lacks the permission offers/management.' });
  return call;
}
