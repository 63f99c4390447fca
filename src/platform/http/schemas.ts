import { type TSchema, Type } from '@sinclair/typebox';
import type { Problem } from '../problem.ts';

/** Schema of an error response (docs/reference/access-and-errors.md#errors), documented for every route. */
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

/** Schema of a text that is a problem until it is answered. */
export const problemText = Type.Unsafe<Problem | string>(Type.String());

/** Error responses of a route by status, for its `response` schema. */
export const errorAnswers = (...statuses: number[]): Record<number, TSchema> =>
  Object.fromEntries([...statuses, 429, 500, 503].map((status) => [status, Type.Ref('Error')]));

/** Pattern for text without NUL, which PostgreSQL rejects. */
export const noNul = '^[^\\u0000]*$';

/** Pattern for text without NUL that is not blank. */
export const noNulNotBlank = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';

/** A number used as an identifier. Larger ones are rounded when they are parsed, so two of them could become equal. */
export const exactNumber = Type.Number({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });

/** Schema keyword for the schema that the API description shows instead of the validating one. */
export const describedAs = 'x-described-as';

/**
 * Optional integer in a query. It is validated as text, because everything in a URL is text, and described as an
 * integer, so that generated clients accept numbers.
 */
export const integerParameter = (
  range: { minimum?: number; maximum?: number },
  options: { pattern?: string; description?: string; [keyword: `x-${string}`]: unknown } = {},
) => Type.Optional(Type.String({ ...options, [describedAs]: { type: 'integer', ...range } }));

/** Optional `true` or `false` in a query: validated as text, described as a boolean. */
export const booleanParameter = (description?: string) =>
  Type.Optional(Type.String({ ...(description && { description }), [describedAs]: { type: 'boolean' } }));

/** Optional text that may also be a number. */
export const textOrNumber = (maxLength: number, description: string, pattern = noNul) =>
  Type.Optional(Type.Union([Type.String({ maxLength, pattern }), exactNumber], { description }));
