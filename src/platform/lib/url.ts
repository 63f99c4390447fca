/**
 * Parses a URL. `URL.canParse` is not used, because in Node 20, once it has been compiled, it rejects URLs with letters
 * such as "ü".
 * @returns null if the text is not a URL
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
