import { InvalidParameterError } from './errors.ts';

/** Parts of a URL that has a host. Scheme and host are in lower case, without the default port. */
export type UrlParts = {
  scheme: string;
  authority: string;
  /** Path without trailing slashes. */
  path: string;
  /** Query string including the "?", or "" if it is missing or empty. */
  query: string;
};

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' };

/** Capture groups: scheme, user info with "@", host or IPv6 literal, port, path, query. */
const urlPattern = new RegExp(
  [
    /^([a-z][a-z0-9+.-]*):\/\//,
    /([^/?#\s@\\]*@)?/,
    /([^/?#\s@:\\[\]]+|\[[0-9a-f:.]+\])/,
    /(?::(\d*))?/,
    /(\/[^?#]*)?(\?[^#]*)?(?:#.*)?$/,
  ]
    .map(({ source }) => source)
    .join(''),
  'is',
);

/**
 * Splits a URL into its parts. Returns null if the URL has no host. Does not use the `URL` class, whose `host` and
 * `origin` throw in many React Native versions.
 */
export function splitUrl(url: unknown): UrlParts | null {
  if (typeof url !== 'string') return null;
  const [, scheme = '', user = '', host = '', port = '', path = '', query = ''] = urlPattern.exec(url.trim()) ?? [];
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
 * Normalises a URL, so that equivalent URLs compare as equal. The following differences are ignored:
 * - case of the scheme and host
 * - default port
 * - trailing slashes in the path
 * - empty query
 * - fragment
 * - percent-encoding of characters that web views encode
 */
export function normaliseUrl(url: string): string {
  const parts = splitUrl(url);
  if (parts === null) return url.trim();
  return `${parts.scheme}://${parts.authority}${percentEncode(parts.path)}${percentEncode(parts.query)}`;
}

/**
 * Checks the base URL of a web view page, which determines the origin of the page's web storage and requests.
 * @returns the origin, such as `https://shop.example`
 * @throws InvalidParameterError unless it is an https origin; on `about:blank`, for example, web views block storage
 * and requests
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

/**
 * Percent-encodes text, including characters that only some browsers encode or that are encoded only in some parts of a
 * URL.
 */
function percentEncode(text: string): string {
  return text.replace(/(?:[^\u0021-\u007e]|["'<>\\^`{|}])+/g, (run) =>
    encodeURIComponent(run.replace(loneSurrogates, '\ufffd')).replaceAll("'", '%27'),
  );
}

/** Lone surrogates can't be encoded. Web views replace them with U+FFFD. */
const loneSurrogates = /[\ud800-\udfff]/gu;
