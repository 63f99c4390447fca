import type { FastifySchemaValidationError } from 'fastify';
import type { ErrorDetail } from '../errors.ts';

/** What the validator found in a part of the request, field by field; fields of the body are named without it. */
export function detailsOf(errors: readonly FastifySchemaValidationError[], part: string): ErrorDetail[] {
  const prefix = part === 'body' ? '' : `/${part}`;
  const unions = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(({ instancePath }) => instancePath));
  const whole = [...unions].map((path) => ({ path: `${prefix}${path}` || '/', message: choicesOf(errors, path) }));
  return [
    ...errors.filter(({ instancePath }) => !unions.has(instancePath)).map((error) => detailOf(error, prefix)),
    ...whole,
  ];
}

function detailOf({ instancePath, params, message }: FastifySchemaValidationError, prefix: string): ErrorDetail {
  const { missingProperty, additionalProperty } = params as { missingProperty?: string; additionalProperty?: string };
  const name = missingProperty ?? additionalProperty;
  const problem = additionalProperty === undefined ? message : 'is not a known field';
  return {
    path: `${prefix}${instancePath}${name === undefined ? '' : `/${name}`}` || '/',
    message: problem ?? 'is invalid',
  };
}

/** A value that may be of several shapes fits none of them: one sentence that names them all. */
function choicesOf(errors: readonly FastifySchemaValidationError[], path: string): string {
  const shapes = errors.filter(({ instancePath, keyword }) => instancePath === path && keyword !== 'anyOf');
  const values = shapes.filter(({ keyword }) => keyword === 'const').map(({ params }) => params.allowedValue);
  const kinds = new Set(values.map((value) => typeof value as string));
  const others = shapes.filter(
    ({ keyword, params }) => keyword !== 'const' && !(keyword === 'type' && kinds.has(params.type as string)),
  );
  const named = values.map((value) => `be ${JSON.stringify(value)}`);
  const rules = others.map(({ message = 'be valid' }) => message.replace(/^must /, ''));
  return `must ${[...new Set([...named, ...rules])].join(', or ')}`;
}
