import { createHmac, type KeyObject, randomBytes } from 'node:crypto';
import { signV1a } from './message/signature-v1a.ts';

/**
 * What a signature covers. `timestampS` is epoch seconds, as sent in `webhook-timestamp`; `id` as sent in `webhook-id`.
 */
export type SignedMessage = {
  id: string;
  timestampS: number;
  body: Buffer;
  secrets: readonly Buffer[];
  /** Ed25519 keys; each adds a `v1a` signature. */
  v1aKeys?: readonly KeyObject[];
};

const prefix = 'whsec_';
const minSecretBytes = 24;
const maxSecretBytes = 64;

/**
 * The `webhook-signature` header: one `v1,<base64 HMAC-SHA256>` per secret, in the given order, separated by spaces, so
 * that a receiver that knows any one of them can verify during a rotation; then one `v1a,<base64 ed25519>` per key.
 * Signed are the bytes `id.timestamp.` and the body as sent.
 * @throws when there is no secret, or the timestamp is not in whole seconds
 * @see Standard Webhooks 1.0, "Signature scheme"
 */
export function sign({ id, timestampS, body, secrets, v1aKeys = [] }: SignedMessage): string {
  if (secrets.length === 0) throw new Error('a webhook needs at least one secret to be signed with');
  if (!Number.isSafeInteger(timestampS) || timestampS < 0)
    throw new Error('timestampS must be whole seconds since the epoch');
  const head = `${id}.${timestampS}.`;
  const hmacs = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(head).update(body).digest('base64')}`,
  );
  return [...hmacs, ...signV1a(head, body, v1aKeys)].join(' ');
}

/** A new endpoint secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = (): string => prefix + randomBytes(32).toString('base64');

/**
 * The key inside a secret of the form `whsec_<base64>`.
 * @returns 24–64 bytes
 * @throws when the text has another form or length; the message never holds the secret
 * @see Standard Webhooks 1.0, "Signature scheme"
 */
export function secretBytes(secret: string): Buffer {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : '';
  const bytes = Buffer.from(encoded, 'base64');
  // Buffer skips what is not base64; only text that it writes back the same was base64 throughout.
  if (encoded === '' || bytes.toString('base64') !== encoded)
    throw new Error('a webhook secret has the form whsec_<base64>');
  if (bytes.length < minSecretBytes || bytes.length > maxSecretBytes) {
    throw new Error(`a webhook secret holds ${minSecretBytes} to ${maxSecretBytes} bytes`);
  }
  return bytes;
}
