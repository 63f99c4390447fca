import { sign } from '../signature.ts';

export type Method = 'POST' | 'GET';

/** Everything a webhook call is made of. */
export type Message = {
  /** UUID; `webhook-id` is `msg_` and its hex digits, the same over all tries. */
  deliveryId: string;
  event: string;
  url: string;
  method: Method;
  /** JSON text in UTF-8: bytes signed = bytes stored = bytes sent. */
  payload: Buffer;
  secrets: readonly Buffer[];
  nowMs: number;
  dev: boolean;
  test: boolean;
  /** Makes a link from which the payload can be fetched, for GET calls whose URL would be too long; null: there is none. */
  payloadUrl: (() => string) | null;
};

export type HttpCall = { url: string; method: Method; headers: Record<string, string>; body: Buffer | null };

/** The longest URL of a GET call that carries its payload (bytes). */
export const maxUrlBytes = 8000;

/** The request of a webhook, with the headers of Standard Webhooks 1.0 (decisions section 4). Pure. */
export function compose(message: Message): HttpCall {
  const { method, payload, url } = message;
  const headers = headersOf(message);
  if (method === 'GET') return { url: getUrl(message), method, headers, body: null };
  return { url, method, headers: { 'content-type': 'application/json', ...headers }, body: payload };
}

function headersOf({ deliveryId, event, payload, secrets, nowMs, dev, test }: Message): Record<string, string> {
  const id = `msg_${deliveryId.replaceAll('-', '')}`;
  const timestampS = Math.floor(nowMs / 1000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': sign({ id, timestampS, body: payload, secrets }),
    'perkwire-event': event,
    ...(test && { 'perkwire-test': '1' }),
    ...(dev && { 'perkwire-dev': '1' }),
  };
}

type Body = { pub_user_id?: string; selected?: number; session_id?: string; campaigns?: readonly { campaign_id: number }[] };

function getUrl({ url, payload, payloadUrl }: Message): string {
  const text = payload.toString('utf8');
  const { body } = JSON.parse(text) as { body: Body };
  const summary = {
    pub_user_id: body.pub_user_id ?? '',
    selected: String(body.selected ?? 0),
    session_id: body.session_id ?? '',
    campaign_ids: (body.campaigns ?? []).map((campaign) => campaign.campaign_id).join(','),
  };
  const inline = withQuery(url, { ...summary, payload: text });
  if (payloadUrl === null || Buffer.byteLength(inline) <= maxUrlBytes) return inline;
  return withQuery(url, { ...summary, payload_url: payloadUrl() });
}

/** Adds parameters behind the query a URL already has, which stays as it was written. Blanks become `%20`, which every receiver reads. */
function withQuery(text: string, parameters: Record<string, string>): string {
  const url = new URL(text);
  const added = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`);
  url.search = [url.search.slice(1), ...added].filter((part) => part !== '').join('&');
  url.hash = '';
  return url.href;
}
