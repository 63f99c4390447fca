import AjvCompiler from '@fastify/ajv-compiler';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { TSchema } from '@sinclair/typebox';
import type { FastifySchemaValidationError } from 'fastify';
import { AppError, type ErrorDetail } from '../errors.ts';
import { describedAs } from './schemas.ts';

/*
 * What checks a request and what serializes a response is compiled when it is first used: together, those of all
 * routes were half of the CPU time of a start.
 */

type Serialize = (value: unknown) => string;

const buildSerializerCompiler = SerializerSelector();

export const lazySerializers: typeof buildSerializerCompiler = (externalSchemas, options) => {
  const compile = buildSerializerCompiler(externalSchemas, options);
  return (route) => {
    let serialize: Serialize | undefined;
    return (value) => {
      serialize ??= compile(route);
      return serialize(value);
    };
  };
};

export const validatorOptions = {
  coerceTypes: false as const,
  removeAdditional: false as const,
  useDefaults: true,
  allErrors: false,
  keywords: [describedAs],
};

/** `errors` are those of the last call, as Ajv does it. */
type Validate = { (value: unknown): unknown; errors?: unknown };

const buildValidatorCompiler = AjvCompiler();

export const lazyValidators: typeof buildValidatorCompiler = (externalSchemas, options) => {
  let compile: ReturnType<typeof buildValidatorCompiler> | undefined;
  return (route) => {
    let compiled: Validate | undefined;
    const validate: Validate = (value) => {
      compile ??= buildValidatorCompiler(externalSchemas, options);
      compiled ??= compile(route) as Validate;
      const result = compiled(value);
      validate.errors = compiled.errors;
      return result;
    };
    return validate as ReturnType<typeof compile & {}>;
  };
};

/** Makes the error of a value that a schema refuses. `path`: where the value stands in its part of the request. */
export type Problem = (path?: string) => AppError;

/** Compiles the check of a part of a request when it is first used. It returns null for a valid value. */
export function createPartCheck(schema: TSchema, part: 'body' | 'querystring'): (value: unknown) => Problem | null {
  const isValid = lazyValidators({}, { customOptions: validatorOptions })({ schema });
  return (value) => {
    if (isValid(value)) return null;
    const errors = isValid.errors as FastifySchemaValidationError[];
    return (path = '') => {
      const placed = errors.map((error) => ({ ...error, instancePath: `${path}${error.instancePath}` }));
      return new AppError('invalid_request', { details: detailsOf(placed, part) });
    };
  };
}

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
