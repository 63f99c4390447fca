import { InvalidParameterError } from './errors.ts';
import { isRecord, parseJson, type UserPayload } from './payload.ts';
import { splitUrl } from './url.ts';

/** sdk: the web SDK fetches and caches; api: the app fetches and injects the response. */
export type PrefetchMode = 'sdk' | 'api';

export type PrefetchHtmlOptions = {
  /** The publisher's SDK id. */
  sdkId: string;
  /** URL of the launcher script, such as `https://offers.example/sdk/launcher.js`. */
  sdkCdnUrl: string;
  user?: UserPayload;
};

export type CheckoutHtmlOptions = Omit<PrefetchHtmlOptions, 'sdkCdnUrl'> & {
  /** Default: the template loads the launcher of the service that it came from. */
  sdkCdnUrl?: string;
  mode: PrefetchMode;
};

/** Value of `%%CONFIG%%` for each mode (docs/reference/web-sdk.md#web-views). */
export const configFragments: Readonly<Record<PrefetchMode, string>> = {
  sdk: 'autoLoad: true, prefetch: true',
  api: 'autoLoad: false, prefetch: false',
};

/** `prefetch.html` for the hidden web view of the SDK prefetch. @throws InvalidParameterError */
export const renderPrefetchHtml = (template: string, options: PrefetchHtmlOptions): string =>
  render(template, { ...options, mode: 'sdk' });

/** `checkout.html` for the web view that shows the offers. @throws InvalidParameterError */
export const renderCheckoutHtml = (template: string, options: CheckoutHtmlOptions): string => render(template, options);

/** Renders in one pass over the template, so that placeholders in values are not replaced. */
function render(template: string, { sdkId, sdkCdnUrl, mode, user = {} }: CheckoutHtmlOptions): string {
  if (mode !== 'sdk' && mode !== 'api') throw new InvalidParameterError('mode', 'must be "sdk" or "api"');
  const userLiteral = objectLiteral(user);
  const values: Record<string, string> = {
    '%%SDK_ID%%': requireSdkId(sdkId),
    '%%SDK_CDN_URL%%': sdkCdnUrl === undefined ? '%%SDK_CDN_URL%%' : scriptUrl(sdkCdnUrl),
    '%%CONFIG%%': configFragments[mode],
    '%%AdUser%%': userLiteral,
  };
  let statementSeen = false;
  return template.replace(/%%(?:SDK_ID|SDK_CDN_URL|CONFIG|AdUser)%%|window\.AdUser = \{\};/g, (placeholder) => {
    const value = values[placeholder];
    if (value !== undefined) return value;
    if (statementSeen) return placeholder;
    statementSeen = true;
    return `window.AdUser = ${userLiteral};`;
  });
}

/**
 * Object literal of the payload with string values: numbers and booleans as text, objects as JSON; null and undefined
 * are omitted.
 */
function objectLiteral(user: UserPayload): string {
  const properties = Object.entries(user)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(
      ([key, value]) =>
        `${propertyName(key)}: ${quote(typeof value === 'object' ? JSON.stringify(value) : String(value))}`,
    );
  return properties.length === 0 ? '{}' : `{ ${properties.join(', ')} }`;
}

/** `__proto__` needs a computed name, because a plain one would set the prototype. */
const propertyName = (key: string): string => (key === '__proto__' ? '["__proto__"]' : quote(key));

function requireSdkId(sdkId: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(sdkId))
    throw new InvalidParameterError('sdkId', 'must be letters, digits, "-" and "_"');
  return sdkId;
}

/** Checks that a URL is safe within an attribute and within a string of a script. */
function scriptUrl(url: string): string {
  const scheme = splitUrl(url)?.scheme;
  if (scheme !== 'https' && scheme !== 'http')
    throw new InvalidParameterError('sdkCdnUrl', 'must be an http or https URL');
  return url
    .trim()
    .replace(/["'<>\\`;\s]/g, (character) => (character === "'" ? '%27' : encodeURIComponent(character)));
}

/**
 * Returns JavaScript to run in the checkout web view when the page has loaded: it passes a stored response of
 * fetch-offers (object or JSON text) to the SDK and shows the offers. Its last value is `true`, as web view bridges
 * require.
 * @throws InvalidParameterError if the response is not a JSON object
 */
export function injectApiResponse(json: object | string): string {
  const response = typeof json === 'string' ? parseJson(json) : json;
  if (!isRecord(response)) throw new InvalidParameterError('json', 'must be a JSON object');
  const literal = `JSON.parse(${quote(JSON.stringify(response))})`;
  return `Promise.resolve(Ad.setApiResponse(${literal})).then(function () { return Ad.reload(); }); true;`;
}

/**
 * A JavaScript string literal for any place in an HTML script. Characters that could end the script, open a comment,
 * form a placeholder or depend on the page's encoding are written as \uXXXX.
 */
const quote = (text: string): string =>
  JSON.stringify(text).replace(/[<>&'%`]|[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
