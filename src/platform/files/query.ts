import { type Static, Type } from '@sinclair/typebox';
import { AppError } from '../errors.ts';
import { booleanParameter } from '../http/schemas.ts';
import { type Problem, problem } from '../problem.ts';
import type { LayoutOptions } from './layout.ts';

const text = (description: string) => Type.Optional(Type.String({ description }));

/** Query parameters shared by all file imports (docs/reading-input.md#files). */
export const fileQuery = {
  dry_run: booleanParameter('`true` checks and describes the file and writes nothing.'),
  header: text('Whether the first row is a header: `present` or `absent`. Detected by default.'),
  column: text('Name of the column with the values, or its number starting at 1.'),
  partial: booleanParameter('`true` loads the valid rows even if more than 1% of the rows are invalid.'),
};

const querySchema = Type.Object(fileQuery);

export type FileOptions = LayoutOptions & { isDryRun: boolean; isPartial: boolean };

/**
 * Parses the query parameters of a file import.
 * @throws AppError invalid_request
 */
export function readFileOptions(query: unknown): FileOptions {
  const { header, column, dry_run, partial } = query as Static<typeof querySchema>;
  return {
    isDryRun: flagIn('dry_run', dry_run),
    isPartial: flagIn('partial', partial),
    header: headerIn(header),
    column: typeof column === 'string' && column.trim() !== '' ? column.trim() : null,
  };
}

const refuse = (name: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path: `/querystring/${name}`, message }] });

function flagIn(name: string, value: unknown): boolean {
  if (value === undefined || value === 'true' || value === 'false') return value === 'true';
  throw refuse(name, problem('isBoolean'));
}

function headerIn(value: unknown): LayoutOptions['header'] {
  if (value === undefined || value === '') return null;
  if (value === 'present' || value === 'absent') return value;
  throw refuse('header', problem('headerOption'));
}
