import { parseUrl } from './url.ts';
/** A parsed URL template: origin, path, and the rest. Macros such as `{click_id}` count only after the origin. */
export type UrlTemplate = { origin: string; path: string; tail: string };

const macro = /\{([A-Za-z0-9_.-]{1,64})\}/g;
const parts = /^https?:\/\/[^/?#\\]+([^?#]*)(.*)$/is;

/** Parses an absolute http(s) URL; returns null for anything else. */
export function parseUrlTemplate(text: string): UrlTemplate | null {
  const match = parts.exec(text);
  if (match === null || parseUrl(text) === null) return null;
  const [, path = '', tail = ''] = match;
  return { origin: new URL(text).origin, path, tail };
}

/** Names of the macros after the origin, with repetitions. */
export const urlMacros = ({ path, tail }: UrlTemplate): string[] =>
  [...`${path}${tail}`.matchAll(macro)].map(([, name = '']) => name);

/**
 * Fills each macro with its percent-encoded text. No text can change the origin or leave the stored path.
 * @throws if the URL has another origin nevertheless
 */
export function fillUrl({ origin, path, tail }: UrlTemplate, textOf: (name: string) => string): URL {
  const encoded = (name: string): string => encodeURIComponent(textOf(name).toWellFormed());
  // A segment of dots would leave the stored path.
  const filledPath = path.replace(macro, (_, name: string) => (/^\.+$/.test(textOf(name)) ? '' : encoded(name)));
  const url = new URL(origin + filledPath + tail.replace(macro, (_, name: string) => encoded(name)));
  if (url.origin !== origin) throw new Error('a URL left its origin');
  return url;
}
