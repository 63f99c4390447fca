/** Longest name of a placement, and longest key of a theme (characters). */
export const maxPlacementLength = 128;
export const maxThemeKeyLength = 64;

/**
 * The form in which placements and themes are known by name: lower case, blanks and underscores as hyphens
 * (docs/interface.md#placements, #themes). U+0085 is a blank to PostgreSQL, though not to JavaScript.
 */
export const normaliseName = (name: string): string =>
  name
    .toWellFormed()
    .trim()
    .toLowerCase()
    .replace(/[\s\u0085_]+/g, '-');
