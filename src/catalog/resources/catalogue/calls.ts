import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callOf } from '../../../management/http.ts';
import { isOperator } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';

/*
 * What calls with a catalogue file have in common.
 */

/** Beyond this the command is the way (bytes of a file). */
export const maxBytes = 32 * 1024 * 1024;

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
