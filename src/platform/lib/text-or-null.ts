/** Trimmed text with lone surrogates replaced, which PostgreSQL refuses; null where nothing is left. */
export function textOrNull(value: string | undefined): string | null {
  const clean = value?.toWellFormed().trim();
  return clean === undefined || clean === '' ? null : clean;
}
