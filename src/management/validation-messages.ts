import type { TSchema } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import { schemaErrors } from './schema-errors.ts';

/** Errors reported at most (count). */
const maxDetails = 50;

/** The errors of a value by path, in words for its author; empty when it is valid. */
export const checkValue = (schema: TSchema, value: unknown): ErrorDetail[] => schemaErrors(schema, value, maxDetails);
