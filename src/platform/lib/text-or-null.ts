/**
 * Trimmed text with lone surrogates replaced, which PostgreSQL refuses; null where nothing is left. Numbers, which some
 * clients send for ids, become text.
 */
export function textOrNull(value: string | number | undefined): string | null {
  const clean = value === undefined ? '' : String(value).toWellFormed().trim();
  return clean === '' ? null : clean;
}
