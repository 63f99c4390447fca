import { AppError, type ErrorDetail } from '../../platform/errors.ts';

/** Says that a field of a request was ignored or dropped, and why; `path` as in the details of an error. */
export type Note = (path: string, message: string) => void;

const namePattern = /^[A-Za-z0-9_.-]{1,64}$/;
const refusedNames = new Set(['__proto__', 'constructor', 'prototype']);
const maxAttributes = 50;
const maxLength = 512;
/** Errors reported at most (count). */
const maxDetails = 20;

/**
 * The publisher's own attributes as text; lists and objects as JSON. What is too much is dropped and noted: attributes
 * beyond the fiftieth, and lists and objects beyond 512 characters (docs/interface.md#request-body).
 * @throws AppError invalid_request for names and texts that are not allowed
 */
export function readCustomAttributes(
  body: Readonly<Record<string, unknown>>,
  knownNames: ReadonlySet<string>,
  note: Note,
): Map<string, string> {
  const custom = new Map<string, string>();
  const details: ErrorDetail[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (knownNames.has(name) || value === null || value === undefined) continue;
    const isStructured = typeof value === 'object';
    const text = (isStructured ? JSON.stringify(value) : String(value)).toWellFormed();
    const path = `/${name.slice(0, 64)}`;
    const isTooLong = text.length > maxLength && [...text].length > maxLength;
    if (refusedNames.has(name)) details.push({ path, message: 'is a refused name' });
    else if (!namePattern.test(name))
      details.push({ path, message: 'must have 1 to 64 characters of A–Z a–z 0–9 _ . -' });
    else if (isTooLong && isStructured) note(path, `dropped: as JSON it has more than ${maxLength} characters`);
    else if (isTooLong) details.push({ path, message: `must have at most ${maxLength} characters` });
    else if (text.includes('\0')) details.push({ path, message: 'must not hold a NUL character' });
    else if (custom.size >= maxAttributes)
      note(path, `dropped: there are more than ${maxAttributes} custom attributes`);
    else custom.set(name, text);
  }
  if (details.length > 0) throw new AppError('invalid_request', { details: details.slice(0, maxDetails) });
  return custom;
}
