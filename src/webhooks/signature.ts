import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as signBytes,
} from 'node:crypto';
import type { SecretBox } from '../platform/security/secret-box.ts';

/** Input of a signature. `timestampS` is epoch seconds, as in `webhook-timestamp`; `id` is as in `webhook-id`. */
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
 * Returns the `webhook-signature` header: one `v1,<base64 HMAC-SHA256>` per secret, in the given order, separated by
 * spaces, so that a receiver that knows any of them can verify during a rotation; then one `v1a,<base64 ed25519>` per
 * key. The signed content is `id.timestamp.` and the body as sent.
 * @throws if there is no secret, or the timestamp is not in whole seconds
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

/** Generates an endpoint secret: `whsec_` and 32 random bytes in base64. */
export const newSecret = (): string => prefix + randomBytes(32).toString('base64');

/**
 * Decodes the key in a secret of the form `whsec_<base64>`.
 * @returns 24–64 bytes
 * @throws if the text has another form or length; the message never contains the secret
 * @see Standard Webhooks 1.0, "Signature scheme"
 */
export function secretBytes(secret: string): Buffer {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : '';
  const bytes = Buffer.from(encoded, 'base64');
  // Buffer skips invalid base64 characters, so encode the bytes again to check that all of the text was valid.
  if (encoded === '' || bytes.toString('base64') !== encoded)
    throw new Error('a webhook secret has the form whsec_<base64>');
  if (bytes.length < minSecretBytes || bytes.length > maxSecretBytes) {
    throw new Error(`a webhook secret holds ${minSecretBytes} to ${maxSecretBytes} bytes`);
  }
  return bytes;
}

const v1aSecretPrefix = 'whsk_';
const v1aPublicPrefix = 'whpk_';
const v1aKeyBytes = 32;
/** DER prefix of the 32 bytes of an ed25519 key (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Generates an ed25519 key: `whsk_`, and in base64 its seed (32 bytes) followed by the public key (32 bytes). */
export function newV1aKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-v1aKeyBytes);
  return v1aSecretPrefix + Buffer.concat([seed, rawPublicKey(privateKey)]).toString('base64');
}

/**
 * Decodes the key in `whsk_<base64>`.
 * @throws if the text has another form; the message never contains the key
 */
export function v1aKeyOf(text: string): KeyObject {
  const bytes = Buffer.from(text.startsWith(v1aSecretPrefix) ? text.slice(v1aSecretPrefix.length) : '', 'base64');
  if (bytes.length !== 2 * v1aKeyBytes) throw new Error('an ed25519 key has the form whsk_<base64 of 64 bytes>');
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8Head, bytes.subarray(0, v1aKeyBytes)]),
    format: 'der',
    type: 'pkcs8',
  });
  if (!rawPublicKey(key).equals(bytes.subarray(v1aKeyBytes)))
    throw new Error('the two halves of an ed25519 key do not belong together');
  return key;
}

/** Returns the public key for receivers: `whpk_` and its 32 bytes in base64. */
export const publicV1aKey = (key: KeyObject): string => v1aPublicPrefix + rawPublicKey(key).toString('base64');

/** Returns one `v1a,<base64>` for each key, over `head` and the body. @see Standard Webhooks 1.0, "Signature scheme" */
function signV1a(head: string, body: Buffer, keys: readonly KeyObject[]): string[] {
  if (keys.length === 0) return [];
  const message = Buffer.concat([Buffer.from(head), body]);
  return keys.map((key) => `v1a,${signBytes(null, message, key).toString('base64')}`);
}

const rawPublicKey = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-v1aKeyBytes);

export const secretContext = 'webhook-secret';
export const v1aContext = 'webhook-v1a-key';
export const headerContext = (name: string): string => `webhook-header ${name}`;

/** Sealed secrets of an endpoint: the current one, and during a rotation the previous one. */
export type SealedSecrets = { current: Buffer; previous: Buffer | null };

/** Creates a secret: as shown once (`whsec_…`) and as stored. */
export function createEndpointSecret(box: SecretBox): { secret: string; sealed: Buffer } {
  const secret = newSecret();
  return { secret, sealed: box.seal(secret, secretContext) };
}

/**
 * Opens the keys to sign with, the current one first.
 * @throws if a secret was sealed with another SECRETS_KEY
 */
export const openSecrets = (box: SecretBox, { current, previous }: SealedSecrets): Buffer[] =>
  [current, previous].filter((sealed) => sealed !== null).map((sealed) => secretBytes(box.open(sealed, secretContext)));

/** Creates an ed25519 key: its public half as shown (`whpk_…`), and the key as stored. */
export function createV1aKey(box: SecretBox): { publicKey: string; sealed: Buffer } {
  const key = newV1aKey();
  return { publicKey: publicV1aKey(v1aKeyOf(key)), sealed: box.seal(key, v1aContext) };
}

/**
 * Opens the ed25519 keys to sign with.
 * @throws if a key was sealed with another SECRETS_KEY
 */
export const openV1aKeys = (box: SecretBox, sealed: readonly Buffer[]): KeyObject[] =>
  sealed.map((key) => v1aKeyOf(box.open(key, v1aContext)));

/** Returns the public half of a stored key, for receivers. */
export const v1aPublicKey = (box: SecretBox, sealed: Buffer): string =>
  publicV1aKey(v1aKeyOf(box.open(sealed, v1aContext)));

/** An endpoint's own headers as stored: names in lower case; values encrypted, as they may be credentials. */
export type SealedHeaders = Readonly<Record<string, string>>;

export const sealHeaders = (box: SecretBox, headers: Readonly<Record<string, string>>): SealedHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, box.seal(value, headerContext(name)).toString('base64')]),
  );

/** @throws if a value was sealed with another SECRETS_KEY */
export const openHeaders = (box: SecretBox, headers: SealedHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, box.open(Buffer.from(value, 'base64'), headerContext(name))]),
  );
