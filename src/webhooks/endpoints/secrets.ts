import type { KeyObject } from 'node:crypto';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { newV1aKey, publicV1aKey, v1aKeyOf } from '../message/signature-v1a.ts';
import { newSecret, secretBytes } from '../signature.ts';

export const secretContext = 'webhook-secret';
export const v1aContext = 'webhook-v1a-key';
export const headerContext = (name: string): string => `webhook-header ${name}`;

/** The sealed secrets of an endpoint: the one that signs, and during a rotation the one before it. */
export type SealedSecrets = { current: Buffer; previous: Buffer | null };

/** A new secret as it is shown once (`whsec_…`) and as it is stored. */
export function createEndpointSecret(box: SecretBox): { secret: string; sealed: Buffer } {
  const secret = newSecret();
  return { secret, sealed: box.seal(secret, secretContext) };
}

/**
 * The keys to sign with, the current one first.
 * @throws when a secret was sealed with another SECRETS_KEY
 */
export const openSecrets = (box: SecretBox, { current, previous }: SealedSecrets): Buffer[] =>
  [current, previous].filter((sealed) => sealed !== null).map((sealed) => secretBytes(box.open(sealed, secretContext)));

/** A new ed25519 key: its public half as it is shown (`whpk_…`), and the key as it is stored. */
export function createV1aKey(box: SecretBox): { publicKey: string; sealed: Buffer } {
  const key = newV1aKey();
  return { publicKey: publicV1aKey(v1aKeyOf(key)), sealed: box.seal(key, v1aContext) };
}

/**
 * The ed25519 keys to sign with.
 * @throws when a key was sealed with another SECRETS_KEY
 */
export const openV1aKeys = (box: SecretBox, sealed: readonly Buffer[]): KeyObject[] =>
  sealed.map((one) => v1aKeyOf(box.open(one, v1aContext)));

/** The public half of a stored key, for receivers. */
export const v1aPublicKey = (box: SecretBox, sealed: Buffer): string =>
  publicV1aKey(v1aKeyOf(box.open(sealed, v1aContext)));

/** An endpoint's own headers as they are stored: names in lower case; values encrypted, as they may be credentials. */
export type SealedHeaders = Readonly<Record<string, string>>;

export const sealHeaders = (box: SecretBox, headers: Readonly<Record<string, string>>): SealedHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, box.seal(value, headerContext(name)).toString('base64')]),
  );

/** @throws when a value was sealed with another SECRETS_KEY */
export const openHeaders = (box: SecretBox, headers: SealedHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, box.open(Buffer.from(value, 'base64'), headerContext(name))]),
  );
