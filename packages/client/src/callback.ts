import { isRecord, parseJson } from './payload.ts';
import { splitUrl } from './url.ts';

/** Events of the web SDK. Later versions may add some: ignore unknown ones. */
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
 * Parses the arguments of the handler `adCallback` (docs/reference/web-sdk.md#web-views): the event name, and the
 * payload as an object or JSON text. Returns null if one of them is missing.
 */
export function parseAdCallback(args: readonly unknown[]): AdCallback | null {
  const [event, payload] = args;
  if (args.length < 2 || typeof event !== 'string' || event === '') return null;
  return { event, payload: parseIfText(payload) };
}

/**
 * Parses a message of a bridge that passes one value (React Native, WebKit): `{ name, …payload }` as an object or JSON
 * text.
 */
export function parseAdMessage(message: unknown): AdCallback | null {
  const value = parseIfText(message);
  if (!isRecord(value)) return null;
  const { name, ...payload } = value;
  return parseAdCallback([name, payload]);
}

/** Number of offers in the payload of `ads_found`. 0 means that the offer section can be skipped. */
export function offerCountOf(payload: unknown): number {
  const count = isRecord(payload) ? Number(payload.offerCount ?? payload.total) : Number.NaN;
  return Number.isInteger(count) && count > 0 ? count : 0;
}

/**
 * URL in the payload of `url_clicked` (a string, or `url` or `target_url`); null unless it is http or https, the only
 * schemes that may be opened.
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
