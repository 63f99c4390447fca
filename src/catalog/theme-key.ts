import { maxThemeKeyLength, normaliseName } from './names.ts';
import type { Publisher, Theme } from './types.ts';

const keyPattern = /^[\p{L}\p{M}\p{N}.-]+$/u;

/**
 * What is wrong with a normalised key; null: nothing. Digits alone are an id
 * (docs/reference/themes-and-rendering.md#themes).
 */
export function themeKeyProblem(key: string): string | null {
  if (!keyPattern.test(key)) return 'must consist of letters, digits, hyphens and dots';
  return /^\d+$/.test(key) ? 'must not be a number: numbers are ids' : null;
}

/** A key made of a theme's name, other than those taken. */
export function themeKeyFrom(name: string, taken: ReadonlySet<unknown>): string {
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
    if (!taken.has(key)) return key;
  }
}

/** The theme that a request or a page names by id or key; null: the publisher has none of that name. */
export function findTheme({ themes, themesByKey }: Publisher, name: string): Theme | null {
  if (name.length > 2 * maxThemeKeyLength) return null;
  const theme = /^\d+$/.test(name) ? themes.get(Number(name)) : themesByKey.get(normaliseName(name));
  return theme ?? null;
}
