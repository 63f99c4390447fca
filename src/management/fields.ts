import { Type } from '@sinclair/typebox';
import type { ErrorDetail } from '../platform/errors.ts';
import { canonicalTag, maxTagLength } from '../platform/lib/language-tags.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { problem } from './schema-errors.ts';

/** Field shapes that several kinds of rows share. */

export const text = (maxLength: number, options: { default?: string; description?: string } = {}) =>
  Type.String({ maxLength, ...options });

export const nameField = (description?: string) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '\\S',
    [problem]: 'must not be blank',
    ...(description === undefined ? {} : { description }),
  });

export const flag = (value: boolean, description?: string) =>
  Type.Boolean({ default: value, ...(description === undefined ? {} : { description }) });

export const maxUrlLength = 2000;

const httpsPattern = 'https://\\S+';
const httpsProblem = { [problem]: 'must be a URL that begins with https://, without blanks' };

export const httpsUrl = (description?: string) =>
  Type.String({
    maxLength: maxUrlLength,
    pattern: `^${httpsPattern}$`,
    ...httpsProblem,
    ...(description === undefined ? {} : { description }),
  });

/** A URL, or the empty text for none. */
export const httpsUrlOrEmpty = (description?: string) =>
  Type.String({
    maxLength: maxUrlLength,
    pattern: `^(${httpsPattern})?$`,
    ...httpsProblem,
    default: '',
    ...(description === undefined ? {} : { description }),
  });

/** What the pattern of a URL does not see. */
export function checkUrls(values: Record<string, unknown>, names: readonly string[]): ErrorDetail[] {
  return names.flatMap((name) => {
    const value = values[name];
    if (typeof value !== 'string' || value === '') return [];
    const url = parseUrl(value);
    if (url === null) return [{ path: `/${name}`, message: 'is not a URL' }];
    if (/[{}]/.test(url.host)) return [{ path: `/${name}`, message: 'must not have macros in the name of the host' }];
    return url.username === '' && url.password === ''
      ? []
      : [{ path: `/${name}`, message: 'must not contain a user name or password' }];
  });
}

/** A number that the database would round is refused; what is no number is the schema's to refuse. */
export function checkDecimals(values: Record<string, unknown>, name: string, digits: number): ErrorDetail[] {
  const value = values[name];
  if (typeof value !== 'number' || Number(value.toFixed(digits)) === value) return [];
  return [{ path: `/${name}`, message: `must have at most ${digits} digits after the point` }];
}

/** BCP 47. */
export const languageTag = (options: { default?: string; description?: string } = {}) =>
  Type.String({ minLength: 2, maxLength: maxTagLength, ...options });

export const notALanguage = 'is not a language (BCP 47, such as de or pt-BR)';

/** The field `language` in its canonical form, as far as it is a tag. */
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
