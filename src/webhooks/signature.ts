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

/**
 * Data to sign. `id` is the value of the header `webhook-id`, and `timestampS` is that of `webhook-timestamp`, in epoch
 * seconds.
 */
export type SignedMessage = {
  id: string;
  timestampS: number;
  body: Buffer;
  secrets: readonly Buffer[];
  /** Ed25519 keys. Each key adds a `v1a` signature. */
  v1aKeys?: readonly KeyObject[];
};

const prefix = 'whsec_';
const minSecretBytes = 24;
const maxSecretBytes = 64;

/**
 * Returns the value of the `webhook-signature` header. The signed content is `id.timestamp.` followed by the body as
 * sent. The header contains the following signatures, separated by spaces:
 * - one `v1,<base64 HMAC-SHA256>` per secret, in the given order, so that a receiver that knows any of the secrets can
 *   verify the call during a rotation
 * - one `v1a,<base64 ed25519>` per key
 * @throws if there is no secret, or if the timestamp is not in whole seconds
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

/** Generates an endpoint secret: `whsec_` followed by 32 random bytes in base64. */
export const newSecret = (): string => prefix + randomBytes(32).toString('base64');

/**
 * Decodes the key in a secret with the format `whsec_<base64>`.
 * @returns key of 24–64 bytes
 * @throws if the secret is not in this format or the key has the wrong length; the error message never contains the
 * secret
 * @see Standard Webhooks 1.0, "Signature scheme"
 */
export function secretBytes(secret: string): Buffer {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : '';
  const bytes = Buffer.from(encoded, 'base64');
  // `Buffer` skips invalid base64 characters. To check that the whole text is valid, encode the bytes again and compare
  // the result.
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
/** DER prefix for a 32-byte ed25519 private key (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Generates an ed25519 key: `whsk_` followed by the base64 of its seed (32 bytes) and public key (32 bytes). */
export function newV1aKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-v1aKeyBytes);
  return v1aSecretPrefix + Buffer.concat([seed, rawPublicKey(privateKey)]).toString('base64');
}

/**
 * Decodes the key in text with the format `whsk_<base64>`.
 * @throws if the text is not in this format; the error message never contains the key
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

/** Returns the public key for receivers: `whpk_` followed by the 32 bytes of the key in base64. */
export const publicV1aKey = (key: KeyObject): string => v1aPublicPrefix + rawPublicKey(key).toString('base64');

/**
 * Signs `head` and the body with each key, and returns one `v1a,<base64>` per key.
 * @see Standard Webhooks 1.0, "Signature scheme"
 */
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

/** Encrypted secrets of an endpoint: the current secret and, during a rotation, the previous one. */
export type SealedSecrets = { current: Buffer; previous: Buffer | null };

/**
 * Creates an endpoint secret. Returns it both as plain text (`whsec_…`), which is shown once, and encrypted for
 * storage.
 */
export function createEndpointSecret(box: SecretBox): { secret: string; sealed: Buffer } {
  const secret = newSecret();
  return { secret, sealed: box.seal(secret, secretContext) };
}

/**
 * Decrypts the secrets that sign calls, the current one first.
 * @throws if a secret was encrypted with another `SECRETS_KEY`
 */
export const openSecrets = (box: SecretBox, { current, previous }: SealedSecrets): Buffer[] =>
  [current, previous].filter((sealed) => sealed !== null).map((sealed) => secretBytes(box.open(sealed, secretContext)));

/**
 * Creates an ed25519 key. Returns its public key (`whpk_…`), which is shown to users, and the encrypted key for
 * storage.
 */
export function createV1aKey(box: SecretBox): { publicKey: string; sealed: Buffer } {
  const key = newV1aKey();
  return { publicKey: publicV1aKey(v1aKeyOf(key)), sealed: box.seal(key, v1aContext) };
}

/**
 * Decrypts the ed25519 signing keys.
 * @throws if a key was encrypted with another `SECRETS_KEY`
 */
export const openV1aKeys = (box: SecretBox, sealed: readonly Buffer[]): KeyObject[] =>
  sealed.map((key) => v1aKeyOf(box.open(key, v1aContext)));

/** Returns the public key of a stored ed25519 key, for receivers. */
export const v1aPublicKey = (box: SecretBox, sealed: Buffer): string =>
  publicV1aKey(v1aKeyOf(box.open(sealed, v1aContext)));

/**
 * Custom headers of an endpoint as stored. Names are in lower case. Values are encrypted, because they may be
 * credentials.
 */
export type SealedHeaders = Readonly<Record<string, string>>;

export const sealHeaders = (box: SecretBox, headers: Readonly<Record<string, string>>): SealedHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, box.seal(value, headerContext(name)).toString('base64')]),
  );

/**
 * Decrypts the custom headers of an endpoint.
 * @throws if a value was encrypted with another `SECRETS_KEY`
 */
export const openHeaders = (box: SecretBox, headers: SealedHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, box.open(Buffer.from(value, 'base64'), headerContext(name))]),
  );
