import { parseUrl } from './url.ts';
/** A URL taken apart: its origin, the path, and the rest. Macros such as `{click_id}` count after the origin only. */
export type UrlTemplate = { origin: string; path: string; tail: string };

const macro = /\{([A-Za-z0-9_.-]{1,64})\}/g;
const parts = /^https?:\/\/[^/?#\\]+([^?#]*)(.*)$/is;

/** Takes an absolute http(s) URL apart; null for anything else. */
export function parseUrlTemplate(text: string): UrlTemplate | null {
  const match = parts.exec(text);
  if (match === null || parseUrl(text) === null) return null;
  const [, path = '', tail = ''] = match;
  return { origin: new URL(text).origin, path, tail };
}

/** The names of the macros after the origin, each time one stands there. */
export const urlMacros = ({ path, tail }: UrlTemplate): string[] =>
  [...`${path}${tail}`.matchAll(macro)].map(([, name = '']) => name);

/**
 * Fills each macro with its text, percent-encoded. No text can change the origin or climb out of the stored path.
 * @throws when the URL left its origin all the same
 */
export function fillUrl({ origin, path, tail }: UrlTemplate, textOf: (name: string) => string): URL {
  const encoded = (name: string): string => encodeURIComponent(textOf(name).toWellFormed());
  // A segment of dots alone would climb out of the stored path.
  const filledPath = path.replace(macro, (_, name: string) => (/^\.+$/.test(textOf(name)) ? '' : encoded(name)));
  const url = new URL(origin + filledPath + tail.replace(macro, (_, name: string) => encoded(name)));
  if (url.origin !== origin) throw new Error('a URL left its origin');
  return url;
}
