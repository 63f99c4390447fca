/** Longest name of a placement (characters). */
export const maxPlacementLength = 128;

/**
 * The name a placement is known by: lower case, blanks and underscores as hyphens (docs/interface.md#placements).
 * U+0085 is a blank to PostgreSQL, though not to JavaScript.
 */
export const normalisePlacement = (name: string): string =>
  name
    .toWellFormed()
    .trim()
    .toLowerCase()
    .replace(/[\s\u0085_]+/g, '-');
