import { maxThemeKeyLength, normaliseName } from './names.ts';
import type { Publisher, Theme } from './types.ts';

const keyPattern = /^[\p{L}\p{M}\p{N}.-]+$/u;

/**
 * Returns the problem of a normalised key, or null. A key of digits only would be an id
 * (docs/reference/themes-and-rendering.md#themes).
 */
export function themeKeyProblem(key: string): string | null {
  if (!keyPattern.test(key)) return 'must consist of letters, digits, hyphens and dots';
  return /^\d+$/.test(key) ? 'must not be a number: numbers are ids' : null;
}

/** Generates a key from a theme's name that is not taken. */
export function themeKeyFrom(name: string, usedKeys: ReadonlySet<unknown>): string {
  const letters = normaliseName(name)
    .replace(/[^\p{L}\p{M}\p{N}.]+/gu, '-')
    .replace(/^-+/, '');
  const text = [...letters]
    .slice(0, maxThemeKeyLength - 8)
    .join('')
    .replace(/-+$/, '');
  const base = themeKeyProblem(text) === null ? text : text === '' ? 'theme' : `theme-${text}`;
  for (let number = 1; ; number += 1) {
    const key = number === 1 ? base : `${base}-${number}`;
    if (!usedKeys.has(key)) return key;
  }
}

/** Returns the theme with an id or key, or null if the publisher has none. */
export function findTheme({ themes, themesByKey }: Publisher, name: string): Theme | null {
  if (name.length > 2 * maxThemeKeyLength) return null;
  const theme = /^\d+$/.test(name) ? themes.get(Number(name)) : themesByKey.get(normaliseName(name));
  return theme ?? null;
}
