import { randomBytes } from 'node:crypto';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';

const context = 'conversion-secret';

export const sealedConversionSecrets = sealedColumn({
  table: 'advertisers',
  column: 'conversion_secret_sealed',
  key: ['id'],
  context: () => context,
});

/**
 * Creates a conversion secret for an advertiser. Returns the plain text, which is shown once, and the encrypted form
 * for storage.
 */
export function createConversionSecret(box: SecretBox): { secret: string; sealed: Buffer } {
  const secret = `cs_${randomBytes(32).toString('base64url')}`;
  return { secret, sealed: box.seal(secret, context) };
}

/**
 * Decrypts a stored conversion secret.
 * @throws Error if it was encrypted with a different SECRETS_KEY
 */
export const openConversionSecret = (box: SecretBox, sealed: Buffer): string => box.open(sealed, context);
