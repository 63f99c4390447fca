import { isRecord, parseJson } from './payload.ts';
import { splitUrl } from './url.ts';

/** Web SDK events. Later versions may add events, so ignore unknown ones. */
export type AdEvent =
  | 'ads_found'
  | 'no_ads_found'
  | 'ad_shown'
  | 'ad_taken'
  | 'ad_not_taken'
  | 'last_ad_taken'
  | 'closed_ads'
  | 'url_clicked'
  | 'usp_selected'
  | 'usp_unselected'
  | 'usp_confirmed'
  | 'error';

export type AdCallback = { event: AdEvent | (string & {}); payload: unknown };

/**
 * Parses the arguments of the `adCallback` handler (docs/reference/web-sdk.md#web-views): the event name, and the
 * payload as an object or JSON text. Returns null if either argument is missing.
 */
export function parseAdCallback(args: readonly unknown[]): AdCallback | null {
  const [event, payload] = args;
  if (args.length < 2 || typeof event !== 'string' || event === '') return null;
  return { event, payload: parseIfText(payload) };
}

/**
 * Parses a message from a web view bridge that passes a single value (React Native, WebKit). The message is `{ name,
 * …payload }`, as an object or JSON text.
 */
export function parseAdMessage(message: unknown): AdCallback | null {
  const value = parseIfText(message);
  if (!isRecord(value)) return null;
  const { name, ...payload } = value;
  return parseAdCallback([name, payload]);
}

/** Returns the number of offers in an `ads_found` payload. If it is 0, the offer section can be skipped. */
export function offerCountOf(payload: unknown): number {
  const count = isRecord(payload) ? Number(payload.offerCount ?? payload.total) : Number.NaN;
  return Number.isInteger(count) && count > 0 ? count : 0;
}

/**
 * Returns the URL in a `url_clicked` payload. The payload is a string, or an object with `url` or `target_url`. Returns
 * null unless the URL is http or https, because no other scheme may be opened.
 */
export function clickedUrlOf(payload: unknown): string | null {
  const url = isRecord(payload) ? (payload.url ?? payload.target_url) : payload;
  const scheme = splitUrl(url)?.scheme;
  return scheme === 'https' || scheme === 'http' ? (url as string) : null;
}

function parseIfText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const parsed = parseJson(value);
  return parsed === undefined ? value : parsed;
}
