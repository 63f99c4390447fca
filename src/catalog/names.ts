/** Longest name of a placement, and longest key of a theme (characters). */
export const maxPlacementLength = 128;
export const maxThemeKeyLength = 64;

/**
 * The form in which placements and themes are known by name: lower case, blanks and underscores as hyphens
 * (docs/interface.md#placements, #themes). To PostgreSQL, U+0085 and, in some locales, U+001C to U+001F are blanks,
 * though not to JavaScript.
 */
export const normaliseName = (name: string): string =>
  name
    .toWellFormed()
    .trim()
    .toLowerCase()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
    .replace(/[\s\u0085\u001c-\u001f_]+/g, '-');
