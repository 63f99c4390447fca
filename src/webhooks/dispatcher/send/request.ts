import type { KeyObject } from 'node:crypto';
import { fillUrl, parseUrlTemplate, urlMacros } from '../../../platform/lib/url-template.ts';
import { isAllowedHeader } from '../../endpoints/custom-headers.ts';
import { sign } from '../../signature.ts';
import type { TransformedParts } from '../../transformations/transform.ts';
import type { DestinationPart } from './result.ts';

/** Input for a webhook call. */
export type Message = {
  /** Delivery UUID. `webhook-id` is `msg_` followed by its hex digits, and is the same for all attempts. */
  deliveryId: string;
  event: string;
  /** Endpoint URL. Its macros are replaced with values from the payload. */
  url: string;
  method: Method;
  /** Payload as JSON text in UTF-8. Without a transformation, exactly these bytes are stored, signed and sent. */
  payload: Buffer;
  /** Custom headers of the endpoint. Reserved headers are dropped. */
  headers?: Readonly<Record<string, string>>;
  secrets: readonly Buffer[];
  /** Ed25519 keys that are used to sign in addition to the secrets. */
  v1aKeys?: readonly KeyObject[];
  nowMs: number;
  dev: boolean;
  test: boolean;
  /** Trace context to send, so that the receiver's spans join the trace, or null. */
  traceparent?: string | null;
  /**
   * Creates a link to the payload, for GET calls whose URL would be too long. Null if payload links are not available.
   */
  payloadUrl: (() => string) | null;
  /** Body and headers that the endpoint's transformation has made, or null to send the payload unchanged. */
  transformed?: TransformedParts | null;
};

export type HttpCall = {
  url: string;
  method: Method;
  headers: Record<string, string>;
  body: Buffer | null;
  /** Set for destinations other than HTTP. */
  destination?: DestinationPart;
};

/**
 * Builds the request of a webhook call, with the headers of Standard Webhooks 1.0
 * (docs/reference/webhooks.md#webhook-events). Pure function.
 */
export function buildRequest(message: Message): HttpCall {
  const { method, transformed = null } = message;
  const url = targetUrl(message);
  // A GET call has no body, so the payload in its URL is signed.
  const body = (method === 'POST' ? transformed?.body : null) ?? message.payload;
  const { 'content-type': contentType = 'application/json', ...own } = transformed?.headers ?? {};
  const headers = { ...usable(message.headers ?? {}), ...own, ...headersOf({ ...message, payload: body }) };
  if (method === 'GET') return { url, method, headers, body: null };
  return { url, method, headers: { ...headers, 'content-type': contentType }, body };
}

function headersOf({
  deliveryId,
  event,
  payload,
  secrets,
  v1aKeys = [],
  nowMs,
  dev,
  test,
  traceparent = null,
}: Message): Record<string, string> {
  const id = `msg_${deliveryId.replaceAll('-', '')}`;
  const timestampS = Math.floor(nowMs / 1000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': sign({ id, timestampS, body: payload, secrets, v1aKeys }),
    'perkwire-event': event,
    ...(test && { 'perkwire-test': '1' }),
    ...(dev && { 'perkwire-dev': '1' }),
    ...(traceparent !== null && { traceparent }),
  };
}

function usable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const allowed = Object.entries(headers).filter(([name]) => isAllowedHeader(name));
  return Object.fromEntries(allowed.map(([name, value]) => [name.toLowerCase(), value]));
}

/** HTTP method of a webhook call. */
export type Method = 'POST' | 'GET';

/** Input for building the target URL of a call. */
export type Target = {
  event: string;
  /** Endpoint URL, which may contain macros such as `{payout}`. */
  url: string;
  method: Method;
  payload: Buffer;
  /** Creates a link to the payload, or null if payload links are not available. */
  payloadUrl: (() => string) | null;
};

/** Maximum length of the URL for a GET call that contains the payload, in bytes. */
export const maxUrlBytes = 8000;
/**
 * Maximum length of a field in the URL of a GET call with a payload link, in bytes after encoding. Longer fields are
 * dropped.
 */
const maxFieldBytes = 600;

/**
 * Builds the URL of a call. It depends only on the endpoint URL and the payload, so that it is the same for every
 * attempt:
 * - Macros are replaced with percent-encoded payload fields or custom attributes. Unknown macros become empty.
 * - For a GET call, the payload fields and the signed payload are added as query parameters. The exception is a
 *   postback whose URL has macros, to which nothing is added.
 */
export function targetUrl(target: Target): string {
  const { event, url, method, payload, payloadUrl } = target;
  const template = url.includes('{') ? parseUrlTemplate(url) : null;
  const hasMacros = template !== null && urlMacros(template).length > 0;
  if (method === 'POST' && !hasMacros) return url;
  const text = payload.toString('utf8');
  const { fields, custom } = readPayload(event, text);
  const fieldOf = (name: string): string => (name === 'payload' ? text : (fields.get(name) ?? custom.get(name) ?? ''));
  const filled = hasMacros ? fillUrl(template, fieldOf).href : url;
  if (method === 'POST' || (hasMacros && event !== 'usp.selection')) return filled;
  const inline = withQuery(filled, [...fields, ['payload', text]]);
  if (payloadUrl === null || Buffer.byteLength(inline) <= maxUrlBytes) return inline;
  const short = [...fields].filter(([, value]) => encoded(value).length <= maxFieldBytes || event === 'usp.selection');
  return withQuery(filled, [...short, ['payload_url', payloadUrl()]]);
}

type Fields = ReadonlyMap<string, string>;

/**
 * Reads the payload fields as text, as well as the custom attributes of the fetch, which are in the nested object
 * `payload`.
 */
function readPayload(event: string, text: string): { fields: Fields; custom: Fields } {
  const parsed = JSON.parse(text) as Record<string, unknown>;
  if (event === 'usp.selection') return { fields: selectionFields(parsed.body as Selection), custom: new Map() };
  const { payload, ...fields } = parsed;
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  return { fields: textsOf(fields), custom: isObject ? textsOf(payload as Record<string, unknown>) : new Map() };
}

type Selection = {
  pub_user_id?: string;
  selected?: number;
  session_id?: string;
  campaigns?: readonly { campaign_id: number }[];
};

/** Macros that an endpoint URL for the event `usp.selection` may contain, in addition to `{payload}`. */
export const selectionMacros: readonly string[] = ['pub_user_id', 'selected', 'session_id', 'campaign_ids'];

const selectionFields = ({ pub_user_id = '', selected = 0, session_id = '', campaigns = [] }: Selection): Fields =>
  textsOf({
    pub_user_id,
    selected,
    session_id,
    campaign_ids: campaigns.map((campaign) => campaign.campaign_id).join(','),
  });

const textsOf = (values: Record<string, unknown>): Fields =>
  new Map(Object.entries(values).map(([name, value]) => [name, textOf(value)]));

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const encoded = (value: string): string => encodeURIComponent(value.toWellFormed());

/**
 * Appends query parameters to a URL without changing its existing query. Spaces are encoded as `%20`, which every
 * receiver can decode.
 */
function withQuery(text: string, parameters: readonly (readonly [string, string])[]): string {
  const url = new URL(text);
  const added = parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  url.search = [url.search.slice(1), ...added].filter((part) => part !== '').join('&');
  url.hash = '';
  return url.href;
}
