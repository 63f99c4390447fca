import { Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import { canonicalTag, maxTagLength } from '../platform/lib/language-tags.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { problem } from '../platform/problem.ts';
import { patternProblem } from './schema-errors.ts';

/** Field schemas shared by several resources. */

export const text = (maxLength: number, options: { default?: string; description?: string } = {}) =>
  Type.String({ maxLength, ...options });

export const nameField = (description?: string) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '\\S',
    [patternProblem]: problem('blank'),
    ...(description === undefined ? {} : { description }),
  });

export const flag = (value: boolean, description?: string) =>
  Type.Boolean({ default: value, ...(description === undefined ? {} : { description }) });

export const maxUrlLength = 2000;

const httpsPattern = 'https://\\S+';
const httpsProblem = { [patternProblem]: problem('httpsUrlNoBlanks') };

export const httpsUrl = (description?: string) =>
  Type.String({
    maxLength: maxUrlLength,
    pattern: `^${httpsPattern}$`,
    ...httpsProblem,
    ...(description === undefined ? {} : { description }),
  });

/** Schema of a field with a URL or an empty string. */
export const httpsUrlOrEmpty = (description?: string) =>
  Type.String({
    maxLength: maxUrlLength,
    pattern: `^(${httpsPattern})?$`,
    ...httpsProblem,
    default: '',
    ...(description === undefined ? {} : { description }),
  });

/** Checks URL rules that a regular expression cannot express. */
export function checkUrls(values: Record<string, unknown>, names: readonly string[]): ErrorDetail[] {
  return names.flatMap((name) => {
    const value = values[name];
    if (typeof value !== 'string' || value === '') return [];
    const url = parseUrl(value);
    if (url === null) return [{ path: `/${name}`, message: problem('noUrl') }];
    if (/[{}]/.test(url.host)) return [{ path: `/${name}`, message: problem('macroInHost') }];
    return url.username === '' && url.password === '' ? [] : [{ path: `/${name}`, message: problem('userInUrl') }];
  });
}

/**
 * Rejects a number with more decimal places than the column stores. Values of any other type are left for schema
 * validation to reject.
 */
export function checkDecimals(values: Record<string, unknown>, name: string, digits: number): ErrorDetail[] {
  const value = values[name];
  if (typeof value !== 'number' || Number(value.toFixed(digits)) === value) return [];
  return [{ path: `/${name}`, message: problem('digits', { digits }) }];
}

/** Schema of a BCP 47 language tag. */
export const languageTag = (options: { default?: string; description?: string } = {}) =>
  Type.String({ minLength: 2, maxLength: maxTagLength, ...options });

export const notALanguage = problem('noLanguage');

/** Converts a valid language tag in the `language` field to its canonical form. */
export const withCanonicalLanguage = (values: Record<string, unknown>): Record<string, unknown> =>
  typeof values.language === 'string'
    ? { ...values, language: canonicalTag(values.language) ?? values.language }
    : values;

export const checkLanguage = ({ language }: Record<string, unknown>): ErrorDetail[] =>
  typeof language === 'string' && canonicalTag(language) === null ? [{ path: '/language', message: notALanguage }] : [];

export const offersPerResponse = Type.Integer({ minimum: 1, maximum: 10 });
export const percentage = Type.Integer({ minimum: 0, maximum: 100 });
export const weight = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000, default: 100, description });
