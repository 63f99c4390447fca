import type { KeyObject } from 'node:crypto';
import { isAllowedHeader } from '../../endpoints/custom-headers.ts';
import { sign } from '../../signature.ts';
import { type Method, targetUrl } from './target-url.ts';

/** Everything a webhook call is made of. */
export type Message = {
  /** UUID; `webhook-id` is `msg_` and its hex digits, the same over all attempts. */
  deliveryId: string;
  event: string;
  /** Of the endpoint; macros in it are filled from the payload. */
  url: string;
  method: Method;
  /** JSON text in UTF-8: bytes signed = bytes stored = bytes sent. */
  payload: Buffer;
  /** The endpoint's own headers; those it may not set are left out. */
  headers?: Readonly<Record<string, string>>;
  secrets: readonly Buffer[];
  /** Ed25519 keys that sign in addition to the secrets. */
  v1aKeys?: readonly KeyObject[];
  nowMs: number;
  dev: boolean;
  test: boolean;
  /** Sent on, so that the receiver's work is part of the trace; null: there is none. */
  traceparent?: string | null;
  /**
   * Makes a link from which the payload can be fetched, for GET calls whose URL would be too long; null: there is none.
   */
  payloadUrl: (() => string) | null;
};

export type HttpCall = { url: string; method: Method; headers: Record<string, string>; body: Buffer | null };

/** The request of a webhook, with the headers of Standard Webhooks 1.0 (docs/interface.md#webhooks). Pure. */
export function buildRequest(message: Message): HttpCall {
  const { method, payload } = message;
  const url = targetUrl(message);
  const headers = { ...usable(message.headers ?? {}), ...headersOf(message) };
  if (method === 'GET') return { url, method, headers, body: null };
  return { url, method, headers: { ...headers, 'content-type': 'application/json' }, body: payload };
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
