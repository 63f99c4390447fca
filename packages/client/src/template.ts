import { InvalidParameterError } from './errors.ts';
import { isRecord, parseJson, type UserPayload } from './payload.ts';
import { splitUrl } from './url.ts';

/**
 * Prefetch mode. In `sdk` mode, the web SDK fetches and caches the offers. In `api` mode, the app fetches them and
 * injects the response.
 */
export type PrefetchMode = 'sdk' | 'api';

export type PrefetchHtmlOptions = {
  /** SDK ID of the publisher. */
  sdkId: string;
  /** URL of the launcher script, such as `https://offers.example/sdk/launcher.js`. */
  sdkCdnUrl: string;
  user?: UserPayload;
};

export type CheckoutHtmlOptions = Omit<PrefetchHtmlOptions, 'sdkCdnUrl'> & {
  /** URL of the launcher script. By default, the template loads the launcher from the service that delivered it. */
  sdkCdnUrl?: string;
  mode: PrefetchMode;
};

/** Value of the `%%CONFIG%%` placeholder in each mode (docs/reference/web-sdk.md#web-views). */
export const configFragments: Readonly<Record<PrefetchMode, string>> = {
  sdk: 'autoLoad: true, prefetch: true',
  api: 'autoLoad: false, prefetch: false',
};

/**
 * Renders `prefetch.html` for the hidden web view that prefetches offers with the SDK.
 * @throws InvalidParameterError
 */
export const renderPrefetchHtml = (template: string, options: PrefetchHtmlOptions): string =>
  render(template, { ...options, mode: 'sdk' });

/**
 * Renders `checkout.html` for the web view that shows the offers.
 * @throws InvalidParameterError
 */
export const renderCheckoutHtml = (template: string, options: CheckoutHtmlOptions): string => render(template, options);

/** Renders the template in a single pass, so that placeholders inside values are not replaced. */
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
 * Returns the payload as a JavaScript object literal with string values. Numbers and booleans become text, and objects
 * become JSON. Null and undefined values are omitted.
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

/** `__proto__` must be a computed property name, because a plain one would set the object's prototype. */
const propertyName = (key: string): string => (key === '__proto__' ? '["__proto__"]' : quote(key));

function requireSdkId(sdkId: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(sdkId))
    throw new InvalidParameterError('sdkId', 'must be letters, digits, "-" and "_"');
  return sdkId;
}

/** Checks that a URL is safe inside an HTML attribute and inside a script string. */
function scriptUrl(url: string): string {
  const scheme = splitUrl(url)?.scheme;
  if (scheme !== 'https' && scheme !== 'http')
    throw new InvalidParameterError('sdkCdnUrl', 'must be an http or https URL');
  return url
    .trim()
    .replace(/["'<>\\`;\s]/g, (character) => (character === "'" ? '%27' : encodeURIComponent(character)));
}

/**
 * Returns JavaScript to run in the checkout web view after the page has loaded. It passes a stored fetch-offers
 * response (object or JSON text) to the SDK, which shows the offers. The script evaluates to `true`, as web view
 * bridges require.
 * @throws InvalidParameterError if the response is not a JSON object
 */
export function injectApiResponse(json: object | string): string {
  const response = typeof json === 'string' ? parseJson(json) : json;
  if (!isRecord(response)) throw new InvalidParameterError('json', 'must be a JSON object');
  const literal = `JSON.parse(${quote(JSON.stringify(response))})`;
  return `Promise.resolve(Ad.setApiResponse(${literal})).then(function () { return Ad.reload(); }); true;`;
}

/**
 * Returns a JavaScript string literal that is safe anywhere in an HTML script. Characters that could end the script,
 * open a comment, form a placeholder or depend on the page encoding are escaped as \uXXXX.
 */
const quote = (text: string): string =>
  JSON.stringify(text).replace(/[<>&'%`]|[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
