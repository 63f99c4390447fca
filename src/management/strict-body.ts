import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { RouteShorthandOptions } from 'fastify';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import { withoutApiKey } from './http.ts';
import { checkValue } from './schema-errors.ts';

/**
 * Options of a management route with a body: fields that its schema does not name are refused, and every wrong field is
 * named at once (docs/reference/management.md#resources).
 */
export const strictBody = {
  validatorCompiler:
    ({ schema, httpPart }) =>
    (value: unknown) =>
      httpPart === 'body'
        ? readBody(schema as TSchema, value)
        : resultOf(value, checkValue(schema as TSchema, value), `/${httpPart}`),
} satisfies Pick<RouteShorthandOptions, 'validatorCompiler'>;

/** A preValidation hook of routes without a body schema: what is sent there would be ignored in silence. */
export function refuseFields(
  { body, routeOptions: { schema = {} } }: { body: unknown; routeOptions: { schema?: object } },
  _reply: unknown,
  done: (err?: Error) => void,
): void {
  const read = 'body' in schema ? { value: body } : readBody(nothing, body ?? {});
  done('error' in read ? read.error : undefined);
}

const nothing = Type.Object({}, { additionalProperties: false });

/** The body of a call that takes it in several forms. @throws AppError invalid_request naming every wrong field */
export function requireBody<Schema extends TSchema>(schema: Schema, body: unknown): Static<Schema> {
  const read = readBody(schema, body);
  if ('error' in read) throw read.error;
  return read.value as Static<Schema>;
}

type Result = { value: unknown } | { error: AppError };

function readBody(schema: TSchema, body: unknown): Result {
  const given = withoutApiKey(body);
  // A list has members of its own that are named like fields, such as `filter`.
  const value = Array.isArray(given) ? given : Value.Default(schema, given);
  return resultOf(value, checkValue(schema, value), '');
}

function resultOf(value: unknown, errors: ErrorDetail[], prefix: string): Result {
  if (errors.length === 0) return { value };
  const details = errors.map(({ path, message }) => ({ path: `${prefix}${path}` || '/', message }));
  return { error: new AppError('invalid_request', { details }) };
}
