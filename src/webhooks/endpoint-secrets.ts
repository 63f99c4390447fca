import type { SecretBox } from '../security/secret-box.ts';
import { newSecret, secretBytes } from './signature.ts';

const context = 'webhook-secret';

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
