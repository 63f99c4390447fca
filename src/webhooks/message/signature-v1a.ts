import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

const secretPrefix = 'whsk_';
const publicPrefix = 'whpk_';
const rawBytes = 32;
/** What comes before the 32 bytes of an ed25519 key in DER (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A new ed25519 key: `whsk_` and in base64 its seed (32 bytes) with the public key (32 bytes) behind it. */
export function newV1aKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-rawBytes);
  return secretPrefix + Buffer.concat([seed, rawPublicKey(privateKey)]).toString('base64');
}

/**
 * The key inside `whsk_<base64>`.
 * @throws when the text has another form; the message never holds the key
 */
export function v1aKeyOf(text: string): KeyObject {
  const bytes = Buffer.from(text.startsWith(secretPrefix) ? text.slice(secretPrefix.length) : '', 'base64');
  if (bytes.length !== 2 * rawBytes) throw new Error('an ed25519 key has the form whsk_<base64 of 64 bytes>');
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8Head, bytes.subarray(0, rawBytes)]),
    format: 'der',
    type: 'pkcs8',
  });
  if (!rawPublicKey(key).equals(bytes.subarray(rawBytes)))
    throw new Error('the two halves of an ed25519 key do not belong together');
  return key;
}

/** What receivers verify with: `whpk_` and the 32 bytes of the public key in base64. */
export const publicV1aKey = (key: KeyObject): string => publicPrefix + rawPublicKey(key).toString('base64');

/** One `v1a,<base64>` for each key, over `head` and the body. @see Standard Webhooks 1.0, "Signature scheme" */
export function signV1a(head: string, body: Buffer, keys: readonly KeyObject[]): string[] {
  if (keys.length === 0) return [];
  const message = Buffer.concat([Buffer.from(head), body]);
  return keys.map((key) => `v1a,${sign(null, message, key).toString('base64')}`);
}

const rawPublicKey = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-rawBytes);
