import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { RouteShorthandOptions } from 'fastify';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import { withoutApiKey } from './http.ts';
import { checkValue } from './schema-errors.ts';

/**
 * Route options for a management route with a body. Unknown fields are rejected, and all invalid fields are reported in
 * one response (docs/reference/management.md#resources).
 */
export const strictBody = {
  validatorCompiler:
    ({ schema, httpPart }) =>
    (value: unknown) =>
      httpPart === 'body'
        ? readBody(schema as TSchema, value)
        : resultOf(value, checkValue(schema as TSchema, value), `/${httpPart}`),
} satisfies Pick<RouteShorthandOptions, 'validatorCompiler'>;

/** preValidation hook for routes without a body schema. It rejects fields that would otherwise be silently ignored. */
export function refuseFields(
  { body, routeOptions: { schema = {} } }: { body: unknown; routeOptions: { schema?: object } },
  _reply: unknown,
  done: (err?: Error) => void,
): void {
  const read = 'body' in schema ? { value: body } : readBody(nothing, body ?? {});
  done('error' in read ? read.error : undefined);
}

const nothing = Type.Object({}, { additionalProperties: false });

/**
 * Validates a request body against a schema with several alternatives.
 * @throws AppError invalid_request listing every invalid field
 */
export function requireBody<Schema extends TSchema>(schema: Schema, body: unknown): Static<Schema> {
  const read = readBody(schema, body);
  if ('error' in read) throw read.error;
  return read.value as Static<Schema>;
}

type Result = { value: unknown } | { error: AppError };

function readBody(schema: TSchema, body: unknown): Result {
  const received = withoutApiKey(body);
  // Don't apply defaults to arrays: their built-in members, such as `filter`, can have the same names as fields.
  const value = Array.isArray(received) ? received : Value.Default(schema, received);
  return resultOf(value, checkValue(schema, value), '');
}

function resultOf(value: unknown, errors: ErrorDetail[], prefix: string): Result {
  if (errors.length === 0) return { value };
  const details = errors.map(({ path, message }) => ({ path: `${prefix}${path}` || '/', message }));
  return { error: new AppError('invalid_request', { details }) };
}
