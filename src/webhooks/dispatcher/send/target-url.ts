import { fillUrl, parseUrlTemplate, urlMacros } from '../../../platform/lib/url-template.ts';

/** Of a webhook call. */
export type Method = 'POST' | 'GET';

/** What the address of a call is made of. */
export type Target = {
  event: string;
  /** The endpoint's URL, in which macros such as `{payout}` may stand. */
  url: string;
  method: Method;
  payload: Buffer;
  /** Makes a link from which the payload can be fetched; null: there is none. */
  payloadUrl: (() => string) | null;
};

/** The longest URL of a GET call that carries its payload (bytes). */
export const maxUrlBytes = 8000;
/** Of a GET call whose payload is behind a link, the longest field that is still in the URL (bytes, encoded). */
const maxFieldBytes = 600;

/**
 * The address of a call, made from the endpoint's URL and the payload alone, so that it is the same on every attempt.
 * Macros are filled with fields of the payload or the custom keys in it, percent-encoded; unknown ones become empty. A
 * GET call also carries the fields and the signed payload as parameters, except for postbacks whose URL has macros: it
 * is called as written.
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
 * The fields of a payload as text, and the custom keys of the fetch, which the payload holds as an object under the
 * name `payload`.
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
 * Adds parameters behind the query a URL already has, which stays as it was written. Blanks become `%20`, which every
 * receiver reads.
 */
function withQuery(text: string, parameters: readonly (readonly [string, string])[]): string {
  const url = new URL(text);
  const added = parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  url.search = [url.search.slice(1), ...added].filter((part) => part !== '').join('&');
  url.hash = '';
  return url.href;
}
