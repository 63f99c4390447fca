import { AppError } from '../../platform/errors.ts';
import { type Problem, problem } from '../../platform/problem.ts';

/** Headers that cannot be set for an endpoint: transport headers, message headers, and Perkwire's own headers. */
const refused = new Set(
  `accept-encoding connection content-encoding content-length content-type date expect host http2-settings keep-alive
   proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade user-agent via`.split(
    /\s+/,
  ),
);
const refusedPrefixes = ['webhook-', 'perkwire-', 'proxy-', 'sec-', ':'];

export const maxHeaders = 20;
const maxValueLength = 1000;
const namePattern = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Visible ASCII characters, with spaces or tabs between them, but no line breaks. */
const valuePattern = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

/** Whether a custom header may be sent with the calls of an endpoint. The name is case-insensitive. */
export function isAllowedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return namePattern.test(name) && !refused.has(lower) && !refusedPrefixes.some((prefix) => lower.startsWith(prefix));
}

/** Whether a text can be sent as the value of a custom header. */
export const isHeaderValue = (value: string): boolean => value.length <= maxValueLength && valuePattern.test(value);

/**
 * Reads an endpoint's custom headers and converts their names to lower case. A null value keeps the stored value of the
 * header.
 * @throws AppError `invalid_endpoint` with the problem
 */
export function readHeaders(
  requested: Readonly<Record<string, string | null>>,
  stored: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(requested);
  if (entries.length > maxHeaders) throw invalidHeader('', problem('maxHeaders', { max: maxHeaders }));
  const headers = new Map<string, string>();
  for (const [name, text] of entries) {
    const lower = name.toLowerCase();
    const value = text ?? (Object.hasOwn(stored, lower) ? stored[lower] : undefined);
    if (!isAllowedHeader(name)) throw invalidHeader(name, problem('headerRefused'));
    if (headers.has(lower)) throw invalidHeader(name, problem('headerTwice'));
    if (value === undefined) throw invalidHeader(name, problem('headerNoValue'));
    if (!isHeaderValue(value)) throw invalidHeader(name, problem('headerValue', { max: maxValueLength }));
    headers.set(lower, value);
  }
  return Object.fromEntries(headers);
}

const invalidHeader = (name: string, message: Problem): AppError =>
  new AppError('invalid_endpoint', {
    details: [{ path: name === '' ? '/headers' : `/headers/${name.toWellFormed().slice(0, 100)}`, message }],
  });
