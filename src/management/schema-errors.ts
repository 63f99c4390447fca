import type { TSchema } from '@sinclair/typebox';
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value';
import type { ErrorDetail } from '../platform/errors.ts';
import { Problem, problem } from '../platform/problem.ts';

/** Schema keyword for the error to report if a string does not match the pattern. */
export const patternProblem = 'x-problem';

/**
 * Validates a value and returns at most one error per path, with messages for API users. Text length is counted in
 * characters, as in PostgreSQL, not in UTF-16 code units. If a string cannot be stored at all, only that is reported.
 */
export function schemaErrors(schema: TSchema, value: unknown, most: number): ErrorDetail[] {
  const oversized = [...findOversized(schema, value, '', most)];
  if (oversized.length > 0) return oversized;
  const details = findUnreadable(value, '').slice(0, most);
  if (details.length > 0 || Value.Check(schema, value)) return details;
  for (const detail of problemsOf(Value.Errors(schema, value))) {
    if (details.length >= most) break;
    if (!details.some(({ path }) => path === detail.path)) details.push(detail);
  }
  return details;
}

/** Maximum number of unknown members in an object. An object with more can't be an honest mistake. */
const maxExcess = 1000;

/** Finds arrays and objects that are so large that validating them would block other requests. */
function* findOversized(declared: TSchema, value: unknown, path: string, most: number): Generator<ErrorDetail> {
  if (typeof value !== 'object' || value === null) return;
  const type = Array.isArray(value) ? 'array' : 'object';
  const schema = (declared.anyOf as TSchema[] | undefined)?.find((branch) => branch.type === type) ?? declared;
  if (Array.isArray(value)) {
    if (value.length > ((schema.maxItems as number | undefined) ?? Number.POSITIVE_INFINITY) + maxExcess)
      yield { path, message: problem('maxItems', { max: schema.maxItems }) };
    else if (schema.uniqueItems === true) yield* findLongItems(schema.items as TSchema, value, path);
    return;
  }
  const fields = schema.properties as Record<string, TSchema> | undefined;
  if (fields === undefined) return;
  const names = schema.additionalProperties === false ? Object.keys(value) : [];
  if (names.length > Object.keys(fields).length + maxExcess)
    for (const name of names.filter((member) => !Object.hasOwn(fields, member)).slice(0, most))
      yield { path: `${path}/${name}`, message: problem('unknownHere') };
  for (const [name, field] of Object.entries(fields))
    if (Object.hasOwn(value, name))
      yield* findOversized(field, (value as Record<string, unknown>)[name], `${path}/${name}`, most);
}

/** Maximum length of a string in a list of unique items, unless its schema sets a different maximum. */
const maxUniqueLength = 200;

/**
 * Finds long strings in a list whose items must be unique. To compare the items, TypeBox hashes them, which takes
 * 100 ns per character.
 */
function* findLongItems(schema: TSchema, list: readonly unknown[], path: string): Generator<ErrorDetail> {
  const max = (schema.maxLength as number | undefined) ?? maxUniqueLength;
  for (const [index, item] of list.entries())
    if (typeof item === 'string' && item.length > 2 * max)
      yield {
        path: `${path}/${index}`,
        message: ofPattern(schema) ?? problem('tooLong', { max, length: charactersIn(item) }),
      };
}

/** Maximum number of errors to report. */
const maxDetails = 50;

/** Validates a value and returns its errors by path, with messages for API users. Empty if the value is valid. */
export const checkValue = (schema: TSchema, value: unknown): ErrorDetail[] => schemaErrors(schema, value, maxDetails);

/** Finds strings that PostgreSQL cannot store, because they contain NUL or lone surrogates. */
export function findUnreadable(value: unknown, path: string): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  addUnreadable(details, value, path, 0);
  return details;
}

/** Appends to a shared array instead of returning one, because a body can have up to half a million values. */
function addUnreadable(details: ErrorDetail[], value: unknown, path: string, depth: number): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) details.push({ path, message: problem('unreadable') });
  } else if (typeof value === 'object' && value !== null) {
    if (depth > 32) details.push({ path, message: problem('tooDeep') });
    else if (Array.isArray(value))
      for (const [index, part] of value.entries()) addUnreadable(details, part, `${path}/${index}`, depth + 1);
    else
      for (const key of Object.keys(value)) {
        addUnreadable(details, key, path, depth + 1);
        addUnreadable(details, (value as Record<string, unknown>)[key], `${path}/${key}`, depth + 1);
      }
  }
}

function* problemsOf(errors: Iterable<ValueError>): Generator<ErrorDetail> {
  for (const error of errors) {
    if (error.type === ValueErrorType.Union) yield* problemsOfUnion(error);
    else if (!fitsInCharacters(error)) yield { path: error.path, message: messageOf(error) };
  }
}

/**
 * Returns the errors for a value that matches no branch of a union. They are those of the branch with the same type as
 * the value, or else of the first branch. The message mentions null if null is allowed.
 */
function problemsOfUnion({ path, schema, errors, value }: ValueError): ErrorDetail[] {
  const branches = errors.map((branch) => [...problemsOf(branch)]);
  if (branches.some((branch) => branch.length === 0)) return [];
  const shapes = schema.anyOf as TSchema[];
  const choices = shapes.map((branch) => branch.const as unknown);
  if (choices.every((choice) => choice !== undefined))
    return [{ path, message: problem('oneOf', { choices: choices.join(', ') }) }];
  const nullable = shapes.some((branch) => branch.type === 'null');
  const type = Array.isArray(value) ? 'array' : typeof value;
  const main = Math.max(
    0,
    shapes.findIndex((branch) => branch.type === type),
  );
  return (branches[main] ?? []).map((detail) =>
    nullable && detail.path === path ? { path, message: problem('orNull', { problem: detail.message }) } : detail,
  );
}

/**
 * Counts characters, with a surrogate pair as one character. It does not build an array of characters, which takes 300
 * ms for a 4 MB text.
 */
function charactersIn(value: unknown): number {
  const text = String(value);
  let count = text.length;
  for (let at = 1; at < text.length; at++)
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count -= 1;
  return count;
}

const fitsInCharacters = ({ type, schema, value }: ValueError): boolean =>
  type === ValueErrorType.StringMaxLength && charactersIn(value) <= schema.maxLength;

/**
 * Returns the error that a schema specifies for a pattern mismatch. A new object is created, because the error may have
 * lost its prototype when the schema was copied.
 */
function ofPattern(schema: TSchema): Problem | null {
  const problemFields = schema[patternProblem] as Pick<Problem, 'key' | 'values'> | undefined;
  return problemFields === undefined ? null : new Problem(problemFields.key, problemFields.values);
}

function messageOf({ type, schema, value }: ValueError): Problem {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return problem('isRequired');
    case ValueErrorType.ObjectAdditionalProperties:
      return problem('unknownHere');
    case ValueErrorType.StringMaxLength:
      return problem('tooLong', { max: schema.maxLength, length: charactersIn(value) });
    case ValueErrorType.StringMinLength:
      return schema.minLength === 1 ? problem('empty') : problem('tooShort', { min: schema.minLength });
    case ValueErrorType.StringPattern:
      return ofPattern(schema) ?? problem('pattern', { pattern: schema.pattern });
    case ValueErrorType.String:
      return problem('isText');
    case ValueErrorType.Boolean:
      return problem('isBoolean');
    case ValueErrorType.Integer:
      return problem('isInteger');
    case ValueErrorType.Number:
      return problem('isNumber');
    case ValueErrorType.Object:
      return problem('isObject');
    case ValueErrorType.Array:
      return problem('isList');
    case ValueErrorType.Literal:
      return problem('isValue', { value: JSON.stringify(schema.const) });
    case ValueErrorType.ArrayMaxItems:
      return problem('maxItems', { max: schema.maxItems });
    case ValueErrorType.ArrayMinItems:
      return problem('minItems', { min: schema.minItems });
    case ValueErrorType.ArrayUniqueItems:
      return problem('unique');
    case ValueErrorType.IntegerExclusiveMinimum:
    case ValueErrorType.NumberExclusiveMinimum:
      return problem('moreThan', { min: schema.exclusiveMinimum });
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.NumberMinimum:
      return problem('atLeast', { min: schema.minimum });
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMaximum:
      return problem('atMost', { max: schema.maximum });
    default:
      return problem('isInvalid');
  }
}
