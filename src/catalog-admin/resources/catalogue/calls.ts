import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callOf, withoutApiKey } from '../../../management/http.ts';
import { isOperator } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import { readJsonInSlices } from '../../../platform/http/json-slices.ts';
import { readBytes } from '../../../platform/http/read-bytes.ts';
import { problem } from '../../../platform/problem.ts';

/** Functions shared by the API calls that take a catalogue file. */

/** Maximum file size, in bytes. Use the CLI command for larger files. */
export const maxBytes = 32 * 1024 * 1024;

const mb = 1024 * 1024;
const limits = {
  rows: 50_000,
  rowBytes: (list: string): number => (list === 'creatives' ? 8 * mb : mb),
  otherwise: problem('useCatalogueImport'),
};

/**
 * Parses a catalogue file.
 * @throws AppError malformed_json, body_too_large
 */
export async function readCatalogueFile(bytes: Buffer): Promise<unknown> {
  const content = await readJsonInSlices(bytes, limits);
  if (Array.isArray(content)) throw new AppError('malformed_json', { message: problem('bodyNoObject') });
  return withoutApiKey(content);
}

/**
 * Reads the file from a request whose body has not been read yet.
 * @throws AppError body_too_large
 */
export async function bytesOfFile({ body }: FastifyRequest): Promise<Buffer> {
  return body instanceof Readable ? await readBytes(body, { maxBytes }) : Buffer.alloc(0);
}

export const file = Type.Object(
  {},
  { additionalProperties: true, description: 'Catalogue file. See the management API guide for its format.' },
);

/**
 * Requires permissions for both settings and offers, because a catalogue contains both.
 * @throws AppError permission_denied if either permission is missing
 */
export function requireBoth(request: FastifyRequest): ReturnType<typeof callOf> {
  const call = callOf(request);
  if (!isOperator(call.actor) && !call.actor.permissions.has('offers/management'))
    throw new AppError('permission_denied', {
      message: problem('permissionLacking', { permission: 'offers/management' }),
    });
  return call;
}
