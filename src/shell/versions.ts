import { hash } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import { type Html, html } from '../platform/http/html.ts';
import { Problem } from '../platform/problem.ts';
import type { Fields, FormValues } from './context.ts';

/** Name of the hidden field with the version of the stored values from which a form was rendered. */
export const versionField = '_version';

const versionOf = (stored: FormValues): string => hash('sha256', JSON.stringify(stored), 'base64url');

/**
 * Renders the hidden field for a form whose values have no ETag.
 * @param stored values that the form would show without input
 * @param typed submitted values that were neither saved nor refused, and whose version stays
 */
export const storedVersion = (stored: FormValues, typed: FormValues = {}): Html =>
  html`<input type="hidden" name="${versionField}" value="${String(typed[versionField] ?? '') || versionOf(stored)}">`;

/**
 * Refuses a form if the stored values have changed since it was rendered, so that saving it does not overwrite changes
 * that its user has not seen.
 * @throws AppError conflict
 */
export function requireUnchanged(submitted: Fields, stored: FormValues): void {
  const version = submitted.text(versionField);
  if (version !== '' && version !== versionOf(stored))
    throw new AppError('conflict', { message: new Problem('settings.conflict') });
}
