import type { TSchema } from '@sinclair/typebox';
import type { ErrorDetail } from '../../platform/errors.ts';
import { schemaErrors } from '../rules/schema-errors.ts';
import { findUnreadable } from '../rules/validate.ts';

/** Errors reported at most (count). */
const maxDetails = 50;

/** The errors of a value by path, in words for its author; empty when it is valid. */
export function checkValue(schema: TSchema, value: unknown): ErrorDetail[] {
  const unreadable = findUnreadable(value, '');
  return unreadable.length > 0 ? unreadable.slice(0, maxDetails) : schemaErrors(schema, value, maxDetails);
}
