import { sign } from '../signature.ts';
import { targetUrl } from './target-url.ts';

export type Method = 'POST' | 'GET';

/** Everything a webhook call is made of. */
export type Message = {
  /** UUID; `webhook-id` is `msg_` and its hex digits, the same over all tries. */
  deliveryId: string;
  event: string;
  /** Of the endpoint; macros in it are filled from the payload. */
  url: string;
  method: Method;
  /** JSON text in UTF-8: bytes signed = bytes stored = bytes sent. */
  payload: Buffer;
  /** The endpoint's own headers, by lower-case name; those of the message come before them. */
  headers?: Readonly<Record<string, string>>;
  secrets: readonly Buffer[];
  nowMs: number;
  dev: boolean;
  test: boolean;
  /** Makes a link from which the payload can be fetched, for GET calls whose URL would be too long; null: there is none. */
  payloadUrl: (() => string) | null;
};

export type HttpCall = { url: string; method: Method; headers: Record<string, string>; body: Buffer | null };

/** The request of a webhook, with the headers of Standard Webhooks 1.0 (decisions section 4). Pure. */
export function compose(message: Message): HttpCall {
  const { method, payload } = message;
  const url = targetUrl(message);
  const headers = { ...message.headers, ...headersOf(message) };
  if (method === 'GET') return { url, method, headers, body: null };
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
