import { generateKeyPairSync } from 'node:crypto';
import type { SecretBox } from '../security/secret-box.ts';
import { newSecret, secretBytes } from './signature.ts';

const context = 'webhook-secret';
const v1aContext = 'webhook-v1a-key';

/** The sealed secrets of an endpoint: the one that signs, and during a rotation the one before it. */
export type SealedSecrets = { current: Buffer; previous: Buffer | null };

/** A new secret as it is shown once (`whsec_…`) and as it is stored. */
export function createEndpointSecret(box: SecretBox): { secret: string; sealed: Buffer } {
  const secret = newSecret();
  return { secret, sealed: box.seal(secret, context) };
}

/**
 * The keys to sign with, the current one first.
 * @throws when a secret was sealed with another SECRETS_KEY
 */
export const openSecrets = (box: SecretBox, { current, previous }: SealedSecrets): Buffer[] =>
  [current, previous].filter((sealed) => sealed !== null).map((sealed) => secretBytes(box.open(sealed, context)));

/** An ed25519 key pair: the public half as it is shown (`whpk_…`), the whole as it is stored (`whsk_…`, seed and public half). */
export function createV1aKey(box: SecretBox): { publicKey: string; sealed: Buffer } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  const publicHalf = Buffer.from(x, 'base64url');
  const text = `whsk_${Buffer.concat([Buffer.from(d, 'base64url'), publicHalf]).toString('base64')}`;
  return { publicKey: publicKeyOf(publicHalf), sealed: box.seal(text, v1aContext) };
}

/** The public half of a stored key, for receivers. */
export const v1aPublicKey = (box: SecretBox, sealed: Buffer): string =>
  publicKeyOf(Buffer.from(box.open(sealed, v1aContext).slice('whsk_'.length), 'base64').subarray(32));

const publicKeyOf = (bytes: Buffer): string => `whpk_${bytes.toString('base64')}`;
