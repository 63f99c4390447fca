import { InvalidParameterError } from './errors.ts';
import { isRecord, parseJson } from './payload.ts';
import { namedEvents, type WebhookPayloads, type WebhookType } from './webhook-events.ts';

/** Request headers, as in `Request` or Node's `IncomingMessage`. */
export type WebhookHeaders =
  | { get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type VerifyWebhookOptions = {
  /** Endpoint secret (`whsec_…`). During a rotation, pass both secrets. */
  secret: string | readonly string[];
  headers: WebhookHeaders;
  /** Raw request body, before parsing. For a GET request, use the decoded `payload` parameter. */
  body: string | Uint8Array | ArrayBuffer;
  /** Maximum difference between `webhook-timestamp` and the current time, in seconds. Default: 300. */
  toleranceS?: number;
  /** Returns the current time in epoch milliseconds. Default: `Date.now`. */
  now?: () => number;
};

/** Webhook event. `type` determines the type of `payload`. */
export type WebhookEvent = {
  [Type in WebhookType]: {
    type: Type;
    payload: WebhookPayloads[Type];
    /**
     * Value of the `webhook-id` header, which is the same for all attempts. Ignore IDs that you have already processed.
     */
    id: string;
    /** Time of this attempt, in epoch seconds. */
    timestampS: number;
    /**
     * Whether this is a sample webhook from an endpoint test (header `perkwire-test: 1`). The signature does not cover
     * this header.
     */
    test: boolean;
    /**
     * Whether the webhook was sent for a dev session (header `perkwire-dev: 1`). The signature does not cover this
     * header.
     */
    dev: boolean;
  };
}[WebhookType];

export type WebhookErrorReason =
  | 'missing_header'
  | 'invalid_timestamp'
  | 'too_old'
  | 'too_new'
  | 'wrong_signature'
  | 'invalid_payload'
  | 'unknown_event';

/**
 * Thrown if the request must not be trusted. Respond with a 4xx status, unless `reason` is `unknown_event`. In that
 * case, the signature is valid, but the event type was added in a later version of the service.
 */
export class WebhookVerificationError extends Error {
  readonly kind = 'webhook_verification_error';
  readonly reason: WebhookErrorReason;

  constructor(reason: WebhookErrorReason, message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
    this.reason = reason;
  }
}

const defaultToleranceS = 300;
/** Minimum secret length required by Standard Webhooks 1.0. */
const minSecretBytes = 24;

/**
 * Verifies the signature and the age of a webhook according to Standard Webhooks 1.0
 * (docs/reference/webhooks.md#webhook-events). Requires WebCrypto, as in Node, Deno, Bun and edge runtimes.
 * @throws WebhookVerificationError if the webhook must not be trusted; InvalidParameterError for a malformed secret
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const { headers, toleranceS = defaultToleranceS, now = Date.now } = options;
  const secrets = Array.isArray(options.secret) ? options.secret : [options.secret];
  if (secrets.length === 0) throw new InvalidParameterError('secret', 'is required');
  const keys = secrets.map(secretBytes);
  const id = requireHeader(headers, 'webhook-id');
  const timestamp = requireHeader(headers, 'webhook-timestamp');
  const signatures = requireHeader(headers, 'webhook-signature').split(' ');
  const timestampS = checkedTimestamp(timestamp, now() / 1000, toleranceS);
  const body = bytesOf(options.body);
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  let matches = false;
  for (const key of keys) {
    const expected = `v1,${await hmacBase64(key, signed)}`;
    for (const signature of signatures) matches = equalInConstantTime(signature, expected) || matches;
  }
  if (!matches) throw new WebhookVerificationError('wrong_signature', 'No signature matches the body and the secret.');
  const payload = parseJson(new TextDecoder().decode(body));
  if (!isRecord(payload)) throw new WebhookVerificationError('invalid_payload', 'The body is not a JSON object.');
  const flags = { test: headerOf(headers, 'perkwire-test') === '1', dev: headerOf(headers, 'perkwire-dev') === '1' };
  return { type: typeOf(payload), payload, id, timestampS, ...flags } as unknown as WebhookEvent;
}

/** Determines the event type from the signed payload, because the `perkwire-event` header is not signed. */
function typeOf(payload: Record<string, unknown>): WebhookType {
  if (isRecord(payload.body)) return 'usp.selection';
  // Check this first: `event` is free text from the advertiser, so it could equal one of the names checked below.
  if (typeof payload.conversion_id === 'string') return 'conversion';
  if (typeof payload.event === 'string' && namedEvents.has(payload.event)) return payload.event as WebhookType;
  throw new WebhookVerificationError('unknown_event', 'This version of the package does not know the event.');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  const value = key === undefined ? '' : (headers as Record<string, string | string[] | undefined>)[key];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

function requireHeader(headers: WebhookHeaders, name: string): string {
  const value = headerOf(headers, name);
  if (value === '') throw new WebhookVerificationError('missing_header', `The header ${name} is missing.`);
  return value;
}

function checkedTimestamp(text: string, nowS: number, toleranceS: number): number {
  const timestampS = Number(text);
  if (!/^\d{1,15}$/.test(text))
    throw new WebhookVerificationError('invalid_timestamp', 'webhook-timestamp is not a number of seconds.');
  // Negate the condition, so that a tolerance that is not a number rejects every webhook.
  if (!(nowS - timestampS <= toleranceS)) throw new WebhookVerificationError('too_old', 'The webhook is too old.');
  if (!(timestampS - nowS <= toleranceS))
    throw new WebhookVerificationError('too_new', 'webhook-timestamp is in the future. Check the clocks.');
  return timestampS;
}

/**
 * Decodes a secret.
 * @throws InvalidParameterError if the secret is malformed or not text, such as an unset environment variable; the
 * error never contains the secret
 */
function secretBytes(secret: unknown): Uint8Array<ArrayBuffer> {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(String(secret))?.[1] ?? '';
  let text = '';
  try {
    text = atob(encoded);
  } catch {
    // Malformed base64 leaves the secret empty, so that the length check below rejects it.
  }
  if (text.length < minSecretBytes) throw new InvalidParameterError('secret', 'must have the form whsec_<base64>');
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

async function hmacBase64(key: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return btoa(String.fromCharCode(...new Uint8Array(await subtle.sign('HMAC', imported, signed))));
}

/** Compares two strings in constant time. The response time reveals at most their length. */
function equalInConstantTime(actual: string, expected: string): boolean {
  if (actual.length !== expected.length) return false;
  let difference = 0;
  for (let at = 0; at < expected.length; at++) difference |= actual.charCodeAt(at) ^ expected.charCodeAt(at);
  return difference === 0;
}

function bytesOf(body: VerifyWebhookOptions['body']): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new InvalidParameterError('body', 'must be the received text or bytes, not a parsed object');
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
