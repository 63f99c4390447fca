import AjvCompiler from '@fastify/ajv-compiler';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { TSchema } from '@sinclair/typebox';
import type { FastifySchemaValidationError } from 'fastify';
import { AppError, type ErrorDetail } from '../errors.ts';
import { type Problem, problem } from '../problem.ts';
import { describedAs, noNul } from './schemas.ts';

/**
 * Validators and serialisers are compiled on first use, because compiling them for all routes took half of the CPU time
 * at startup.
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
  // Adds the schema of the value to errors.
  verbose: true,
  keywords: [describedAs],
};

/** Compiled validator. As in Ajv, `errors` contains the errors of the most recent call. */
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

/** Creates the error for an invalid value. `path` is the location of the value within the request part. */
export type InvalidPart = (path?: string) => AppError;

/**
 * Creates a validator for one part of a request. It is compiled on first use. The validator returns null for a valid
 * value.
 */
export function createPartCheck(schema: TSchema, part: 'body' | 'querystring'): (value: unknown) => InvalidPart | null {
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

/** Converts validation errors to error details, one per field. Paths to body fields have no prefix. */
export function detailsOf(errors: readonly FastifySchemaValidationError[], part: string): ErrorDetail[] {
  const prefix = part === 'body' ? '' : `/${part}`;
  const unions = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(({ instancePath }) => instancePath));
  const whole = [...unions].map((path) => ({ path: `${prefix}${path}` || '/', message: choicesOf(errors, path) }));
  return [
    ...errors.filter(({ instancePath }) => !unions.has(instancePath)).map((error) => detailOf(error, prefix)),
    ...whole,
  ];
}

function detailOf(error: FastifySchemaValidationError, prefix: string): ErrorDetail {
  const { instancePath, params } = error;
  const { missingProperty, additionalProperty } = params as { missingProperty?: string; additionalProperty?: string };
  const name = missingProperty ?? additionalProperty;
  return { path: `${prefix}${instancePath}${name === undefined ? '' : `/${name}`}` || '/', message: problemOf(error) };
}

const typeProblems = {
  string: problem('isText'),
  number: problem('isNumber'),
  integer: problem('isInteger'),
  boolean: problem('isBoolean'),
  object: problem('isObject'),
  array: problem('isList'),
  null: problem('isNull'),
};

/** Returns the problem for a violation of a single schema rule. */
function problemOf(error: FastifySchemaValidationError): Problem {
  const { keyword, params } = error;
  const { type, limit: ofRule, comparison, pattern, allowedValue, allowedValues } = params as RuleParameters;
  const limit = ofRule ?? 0;
  switch (keyword) {
    case 'required':
      return problem('isRequired');
    case 'additionalProperties':
      return problem('unknownHere');
    case 'type':
      return typeProblems[[type].flat()[0] as keyof typeof typeProblems] ?? problem('isInvalid');
    case 'const':
      return problem('isValue', { value: JSON.stringify(allowedValue) });
    case 'enum':
      return problem('oneOf', { choices: (allowedValues ?? []).join(', ') });
    case 'minLength':
      return problem('tooShort', { min: limit });
    case 'maxLength':
      return problem('textAtMost', { max: limit });
    case 'pattern':
      return integerProblem(error) ?? patternProblems[pattern ?? ''] ?? problem('pattern', { pattern: pattern ?? '' });
    case 'minItems':
      return problem('minItems', { min: limit });
    case 'maxItems':
      return problem('maxItems', { max: limit });
    case 'uniqueItems':
      return problem('unique');
    case 'minimum':
    case 'exclusiveMinimum':
      return comparison === '>' ? problem('moreThan', { min: limit }) : problem('atLeast', { min: limit });
    case 'maximum':
    case 'exclusiveMaximum':
      return comparison === '<' ? problem('lessThan', { max: limit }) : problem('atMost', { max: limit });
    default:
      return problem('isInvalid');
  }
}

/** Problems for violations of patterns that many schemas use. */
const patternProblems: Readonly<Record<string, Problem>> = {
  '\\S': problem('blank'),
  [noNul]: problem('noNul'),
  '^[A-Z]{3}$': problem('currencyCode'),
  '^\\d{4}-\\d{2}-\\d{2}$': problem('aDay'),
};

/** Returns the problem for a query parameter that is an integer, or null for other values. */
function integerProblem(error: FastifySchemaValidationError): Problem | null {
  const { parentSchema } = error as { parentSchema?: { [describedAs]?: Record<string, number | string> } };
  const { type, minimum: min, maximum: max } = parentSchema?.[describedAs] ?? {};
  if (type !== 'integer') return null;
  if (min === undefined) return problem('isInteger');
  return max === undefined ? problem('integerFrom', { min }) : problem('integerBetween', { min, max });
}

type RuleParameters = {
  type?: string | string[];
  limit?: number;
  comparison?: string;
  pattern?: string;
  allowedValue?: unknown;
  allowedValues?: unknown[];
};

/** Returns the problem for a value that matches none of the allowed alternatives. The text lists all of them. */
function choicesOf(errors: readonly FastifySchemaValidationError[], path: string): Problem {
  const shapes = errors.filter(({ instancePath, keyword }) => instancePath === path && keyword !== 'anyOf');
  const values = shapes.filter(({ keyword }) => keyword === 'const').map(({ params }) => params.allowedValue);
  const kinds = new Set(values.map((value) => typeof value as string));
  const others = shapes.filter(
    ({ keyword, params }) => keyword !== 'const' && !(keyword === 'type' && kinds.has(params.type as string)),
  );
  const problems = others.map(problemOf);
  const choices = values.map((value) => JSON.stringify(value)).join(', ');
  if (values.length > 0)
    problems.unshift(values.length > 1 ? problem('oneOf', { choices }) : problem('isValue', { value: choices }));
  return problems.reduce((first, second) => problem('either', { first, second }));
}
