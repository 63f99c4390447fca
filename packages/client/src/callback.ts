import { isRecord, parseJson } from './payload.ts';
import { splitUrl } from './url.ts';

/** Events of the web SDK. Others may follow: leave unknown ones alone. */
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
 * Reads the arguments of the handler `adCallback` (docs/interface.md#web-views): event name first, payload second, as
 * object
 * or JSON text. Null when there are fewer, or the first is no name.
 */
export function parseAdCallback(args: readonly unknown[]): AdCallback | null {
  const [event, payload] = args;
  if (args.length < 2 || typeof event !== 'string' || event === '') return null;
  return { event, payload: fromText(payload) };
}

/**
 * Reads a message of bridges that carry one value: `{ name, …payload }`, as object or JSON text (React Native, WebKit).
 */
export function parseAdMessage(message: unknown): AdCallback | null {
  const value = fromText(message);
  if (!isRecord(value)) return null;
  const { name, ...payload } = value;
  return parseAdCallback([name, payload]);
}

/** Number of offers in the payload of `ads_found`; 0 means that the offer section can be skipped. */
export function offerCountOf(payload: unknown): number {
  const count = isRecord(payload) ? Number(payload.offerCount ?? payload.total) : Number.NaN;
  return Number.isInteger(count) && count > 0 ? count : 0;
}

/**
 * The URL of `url_clicked` (a text, or `url` or `target_url`); null unless it is http or https, as nothing else may be
 * opened.
 */
export function clickedUrlOf(payload: unknown): string | null {
  const url = isRecord(payload) ? (payload.url ?? payload.target_url) : payload;
  const scheme = splitUrl(url)?.scheme;
  return scheme === 'https' || scheme === 'http' ? (url as string) : null;
}

function fromText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const parsed = parseJson(value);
  return parsed === undefined ? value : parsed;
}
