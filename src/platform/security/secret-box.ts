import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * Encrypts texts at rest. `context` says what a text is for (a row's identity); it is not stored, and opening needs the
 * same one.
 */
export type SecretBox = {
  /** @returns version (1 byte), nonce (12), tag (16), ciphertext (as long as the text in UTF-8) */
  seal: (plain: string, context: string) => Buffer;
  /** @throws when the box was altered, cut, sealed with another key, or for another context */
  open: (sealed: Buffer, context: string) => string;
};

const algorithm = 'aes-256-gcm';
const version = Buffer.from([1]);
const keyLength = 32;
const nonceLength = 12;
const authTagLength = 16;
const headLength = version.length + nonceLength + authTagLength;

/**
 * A box of AES-256-GCM with a random nonce, so equal texts look different. Version and context are authenticated too.
 * One key is good for 2^32 seals (NIST SP 800-38D, 8.3), far beyond the secrets of one installation.
 * @param key 32 bytes
 * @throws when the key has another length
 */
export function createSecretBox(key: Buffer): SecretBox {
  if (key.length !== keyLength) throw new Error(`a secret box needs a key of ${keyLength} bytes`);
  const authenticated = (context: string): Buffer => Buffer.concat([version, Buffer.from(context)]);
  return {
    seal: (plain, context) => {
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength }).setAAD(authenticated(context));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([version, nonce, cipher.getAuthTag(), text]);
    },
    open: (sealed, context) => {
      if (sealed.length < headLength || sealed[0] !== version[0])
        throw new Error('not a sealed secret of a known version');
      const nonce = sealed.subarray(version.length, version.length + nonceLength);
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength })
        .setAAD(authenticated(context))
        .setAuthTag(sealed.subarray(version.length + nonceLength, headLength));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(headLength)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new Error('the sealed secret cannot be opened: it was altered, or the key or context is another', {
          cause,
        });
      }
    },
  };
}
