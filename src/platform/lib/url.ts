/**
 * Parses a URL.
 * @returns null if the text is not a URL. `URL.canParse` is not used because in Node 20, once compiled, it rejects URLs
 * with letters such as "ü".
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
