/**
 * @returns null: the text is no URL. `URL.canParse` is no choice where texts come again and again: once it is
 * compiled, that of Node 20 refuses URLs with letters such as "ü".
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
