import { parseUrl } from './url.ts';
/**
 * Parsed URL template, split into origin, path and the rest. Macros such as `{click_id}` are recognised only after the
 * origin.
 */
export type UrlTemplate = { origin: string; path: string; tail: string };

const macro = /\{([A-Za-z0-9_.-]{1,64})\}/g;
const parts = /^https?:\/\/[^/?#\\]+([^?#]*)(.*)$/is;

/** Parses an absolute http(s) URL. Returns null for any other text. */
export function parseUrlTemplate(text: string): UrlTemplate | null {
  const match = parts.exec(text);
  if (match === null || parseUrl(text) === null) return null;
  const [, path = '', tail = ''] = match;
  return { origin: new URL(text).origin, path, tail };
}

/** Returns the names of all macros after the origin, including duplicates. */
export const urlMacros = ({ path, tail }: UrlTemplate): string[] =>
  [...`${path}${tail}`.matchAll(macro)].map(([, name = '']) => name);

/**
 * Replaces each macro with its percent-encoded value. No value can change the origin or escape from the stored path.
 * @throws if the resulting URL has a different origin anyway
 */
export function fillUrl({ origin, path, tail }: UrlTemplate, textOf: (name: string) => string): URL {
  const encoded = (name: string): string => encodeURIComponent(textOf(name).toWellFormed());
  // Omit a value that consists only of dots, because such a path segment would escape from the stored path.
  const filledPath = path.replace(macro, (_, name: string) => (/^\.+$/.test(textOf(name)) ? '' : encoded(name)));
  const url = new URL(origin + filledPath + tail.replace(macro, (_, name: string) => encoded(name)));
  if (url.origin !== origin) throw new Error('a URL left its origin');
  return url;
}
