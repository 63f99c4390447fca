import { InvalidParameterError } from './errors.ts';
import { isRecord, parseJson } from './payload.ts';
import { namedEvents, type WebhookPayloads, type WebhookType } from './webhook-events.ts';

/** Of `Request`, or of Node's `IncomingMessage`. */
export type WebhookHeaders =
  | { get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type VerifyWebhookOptions = {
  /** `whsec_…` of the endpoint; both while a secret is rotated. */
  secret: string | readonly string[];
  headers: WebhookHeaders;
  /** The body as it came, before anything parses it. Of a GET: the parameter `payload`, decoded. */
  body: string | Uint8Array | ArrayBuffer;
  /** Furthest distance of `webhook-timestamp` from now (seconds). Default 300. */
  toleranceS?: number;
  /** Epoch milliseconds. Default `Date.now`. */
  now?: () => number;
};

/** One event; `type` tells the shape of `payload`. */
export type WebhookEvent = {
  [Type in WebhookType]: {
    type: Type;
    payload: WebhookPayloads[Type];
    /** `webhook-id`: the same over all attempts. Ignore the ids that you have handled. */
    id: string;
    /** When this attempt was made (epoch seconds). */
    timestampS: number;
    /** `perkwire-test: 1`: made-up content of Test Endpoint. The signature does not cover it. */
    test: boolean;
    /** `perkwire-dev: 1`: of a dev session. The signature does not cover it. */
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
 * The request must not be trusted: answer 4xx. Except for `unknown_event`, which has a valid signature and is of a
 * later version of the service.
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
/** Of Standard Webhooks 1.0. */
const minSecretBytes = 24;

/**
 * Verifies a webhook by Standard Webhooks 1.0 (docs/reference/webhooks.md#webhook-events): signature and age. Needs
 * WebCrypto: Node, Deno, Bun, edge runtimes.
 * @throws WebhookVerificationError when it must not be trusted; InvalidParameterError for a secret of another form
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

/** By what is signed: the header `perkwire-event` is not. */
function typeOf(payload: Record<string, unknown>): WebhookType {
  if (isRecord(payload.body)) return 'usp.selection';
  // First, because the `event` of a conversion is the advertiser's text.
  if (typeof payload.conversion_id === 'string') return 'conversion';
  if (typeof payload.event === 'string' && namedEvents.has(payload.event)) return payload.event as WebhookType;
  throw new WebhookVerificationError('unknown_event', 'The event is not known to this version of the package.');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const key = Object.keys(headers).find((one) => one.toLowerCase() === name);
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
  // Negated, so that a tolerance that is no number accepts nothing.
  if (!(nowS - timestampS <= toleranceS)) throw new WebhookVerificationError('too_old', 'The webhook is too old.');
  if (!(timestampS - nowS <= toleranceS))
    throw new WebhookVerificationError('too_new', 'webhook-timestamp is in the future: compare the clocks.');
  return timestampS;
}

/** @throws InvalidParameterError, which never holds the secret; so also for an empty variable of the environment */
function secretBytes(secret: unknown): Uint8Array<ArrayBuffer> {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(String(secret))?.[1] ?? '';
  let text = '';
  try {
    text = atob(encoded);
  } catch {
    // Too short then.
  }
  if (text.length < minSecretBytes) throw new InvalidParameterError('secret', 'must have the form whsec_<base64>');
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

async function hmacBase64(key: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return btoa(String.fromCharCode(...new Uint8Array(await subtle.sign('HMAC', imported, signed))));
}

/** Takes as long wherever the texts differ; only their length shows. */
function equalInConstantTime(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let at = 0; at < expected.length; at++) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at);
  return difference === 0;
}

function bytesOf(body: VerifyWebhookOptions['body']): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new InvalidParameterError('body', 'must be the text or the bytes as they came, not a parsed object');
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
