import { type TSchema, Type } from '@sinclair/typebox';

/** The error form (docs/reference/access-and-errors.md#errors), as documented for every route. */
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
  { $id: 'Error', description: 'Every error answer of every route.' },
);

/** The error answers of a route by status, for its `response` schema. */
export const errorAnswers = (...statuses: number[]): Record<number, TSchema> =>
  Object.fromEntries([...statuses, 429, 500, 503].map((status) => [status, Type.Ref('Error')]));

/** Text without NUL, which PostgreSQL refuses. */
export const noNul = '^[^\\u0000]*$';

/** The same, and more than blanks. */
export const noNulNotBlank = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';

/** A number that stands for an identifier. Larger ones are rounded as they are read: two of them could become one. */
export const exactNumber = Type.Number({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });

/** Keyword of the schema that the API description shows in place of the one that validates. */
export const describedAs = 'x-described-as';

/**
 * Optional whole number in a query. It is validated as text, because everything in an address is text, and described
 * as an integer, so that generated clients take numbers.
 */
export const integerParameter = (
  range: { minimum?: number; maximum?: number },
  options: { pattern?: string; description?: string; [keyword: `x-${string}`]: unknown } = {},
) => Type.Optional(Type.String({ ...options, [describedAs]: { type: 'integer', ...range } }));

/** Optional `true` or `false` in a query: validated as text, described as a boolean. */
export const booleanParameter = (description?: string) =>
  Type.Optional(Type.String({ ...(description && { description }), [describedAs]: { type: 'boolean' } }));

/** Optional text; numbers are taken as text. */
export const textOrNumber = (maxLength: number, description: string, pattern = noNul) =>
  Type.Optional(Type.Union([Type.String({ maxLength, pattern }), exactNumber], { description }));
