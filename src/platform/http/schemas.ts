import { type TSchema, Type } from '@sinclair/typebox';
import type { Problem } from '../problem.ts';

/** Schema of error responses (docs/reference/access-and-errors.md#errors), documented for every route. */
export const errorSchema = Type.Object(
  {
    message: Type.String(),
    error: Type.Object({
      code: Type.String({ examples: ['invalid_request'] }),
      message: Type.String(),
      details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
    }),
    request_id: Type.String(),
  },
  { $id: 'Error', description: 'Body of every error response.' },
);

/** Schema of a message that remains a `Problem` object until the response is sent. */
export const problemText = Type.Unsafe<Problem | string>(Type.String());

/** Returns the error responses of a route by status, for its `response` schema. */
export const errorAnswers = (...statuses: number[]): Record<number, TSchema> =>
  Object.fromEntries([...statuses, 429, 500, 503].map((status) => [status, Type.Ref('Error')]));

/** Pattern for text without NUL characters, which PostgreSQL rejects. */
export const noNul = '^[^\\u0000]*$';

/** Pattern for non-blank text without NUL characters. */
export const noNulNotBlank = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';

/**
 * Schema of a numeric identifier. The limits are needed because larger numbers would be rounded during parsing, so that
 * two different identifiers could become equal.
 */
export const exactNumber = Type.Number({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });

/** Schema keyword for an alternative schema, which the API description shows instead of the validation schema. */
export const describedAs = 'x-described-as';

/**
 * Schema of an optional integer query parameter. It is validated as text, because URL parameters are text. In the API
 * description it is an integer, so that generated clients accept numbers.
 */
export const integerParameter = (
  range: { minimum?: number; maximum?: number },
  options: { pattern?: string; description?: string; [keyword: `x-${string}`]: unknown } = {},
) => Type.Optional(Type.String({ ...options, [describedAs]: { type: 'integer', ...range } }));

/**
 * Schema of an optional boolean query parameter. It is validated as the text `true` or `false`. In the API description
 * it is a boolean.
 */
export const booleanParameter = (description?: string) =>
  Type.Optional(Type.String({ ...(description && { description }), [describedAs]: { type: 'boolean' } }));

/** Schema of an optional text that may also be sent as a number. */
export const textOrNumber = (maxLength: number, description: string, pattern = noNul) =>
  Type.Optional(Type.Union([Type.String({ maxLength, pattern }), exactNumber], { description }));
