import { type TSchema, Type } from '@sinclair/typebox';

/** The error form (docs/interface.md#errors), as documented for every route. */
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

/** Optional text; numbers are taken as text. */
export const textOrNumber = (maxLength: number, description: string, pattern = noNul) =>
  Type.Optional(Type.Union([Type.String({ maxLength, pattern }), exactNumber], { description }));
