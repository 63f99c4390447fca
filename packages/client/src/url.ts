import { InvalidParameterError } from './errors.ts';

/** Parts of a URL with an authority. Scheme and authority in lower case (user info as it is), default port left out. */
export type UrlParts = {
  scheme: string;
  authority: string;
  /** Without slashes at its end. */
  path: string;
  /** With its "?"; "" when there is none or it is empty. */
  query: string;
};

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' };

/**
 * Splits a URL; null when it has no host. By hand, because the `URL` of many React Native releases throws on `host` and
 * `origin`.
 */
export function splitUrl(url: unknown): UrlParts | null {
  if (typeof url !== 'string') return null;
  const [, scheme = '', user = '', host = '', port = '', path = '', query = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/([^/?#\s@\\]*@)?([^/?#\s@:\\[\]]+|\[[0-9a-f:.]+\])(?::(\d*))?(\/[^?#]*)?(\?[^#]*)?(?:#.*)?$/is.exec(
      url.trim(),
    ) ?? [];
  if (host === '') return null;
  const lowerScheme = scheme.toLowerCase();
  const shownPort = port === '' || port === defaultPorts[lowerScheme] ? '' : `:${port}`;
  return {
    scheme: lowerScheme,
    authority: `${user}${host.toLowerCase()}${shownPort}`,
    path: withoutTrailingSlashes(path),
    query: query === '?' ? '' : query,
  };
}

/**
 * One spelling for URLs that mean the same: case of scheme and host, default port, slashes at the end of the path, an
 * empty query and the fragment make no difference, nor does it whether a character is percent-encoded that web views
 * encode.
 */
export function normaliseUrl(url: string): string {
  const parts = splitUrl(url);
  if (parts === null) return url.trim();
  return `${parts.scheme}://${parts.authority}${percentEncode(parts.path)}${percentEncode(parts.query)}`;
}

/**
 * The base URL of a web view's page: its web storage and its requests belong to that origin.
 * @returns the origin, such as `https://shop.example`
 * @throws InvalidParameterError unless it is an https origin; `about:blank` makes web views refuse storage and requests
 */
export function requireBaseUrl(url: string): string {
  const parts = splitUrl(url);
  const isOrigin =
    parts !== null &&
    parts.scheme === 'https' &&
    parts.path === '' &&
    !/[?#]/.test(url) &&
    !parts.authority.includes('@');
  if (!isOrigin) throw new InvalidParameterError('baseUrl', 'must be an https origin such as https://shop.example');
  return `https://${parts.authority}`;
}

function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** Also what some browsers encode and others, or other parts of a URL, leave as it is. */
function percentEncode(text: string): string {
  return text.replace(/(?:[^\u0021-\u007e]|["'<>\\^`{|}])+/g, (run) =>
    encodeURIComponent(run.replace(loneSurrogates, '\ufffd')).replaceAll("'", '%27'),
  );
}

/** Halves of a pair that stand alone cannot be encoded; web views report U+FFFD in their place. */
const loneSurrogates = /[\ud800-\udfff]/gu;
