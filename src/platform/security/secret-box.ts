import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * Encrypts texts at rest. `context` says what a text is for (a row's identity). It is not stored, and opening requires
 * the same context.
 */
export type SecretBox = {
  /**
   * Encrypts a text.
   * @returns version (1 byte), nonce (12), tag (16), ciphertext (as long as the text in UTF-8)
   */
  seal: (plain: string, context: string) => Buffer;
  /**
   * Decrypts a text.
   * @throws if it was altered, truncated, sealed with another key, or for another context
   */
  open: (sealed: Buffer, context: string) => string;
  /** Index of the key that sealed a text; 0 is the current key. Null if no key fits, or it was altered. */
  keyOf: (sealed: Buffer, context: string) => number | null;
  /** Number of keys. */
  keys: number;
};

const algorithm = 'aes-256-gcm';
const version = Buffer.from([1]);
const keyLength = 32;
const nonceLength = 12;
const authTagLength = 16;
const headLength = version.length + nonceLength + authTagLength;

/**
 * Creates a box that seals with one key, and opens texts sealed with it or earlier keys (rotation). GCM tells which key
 * it was.
 * @param earlier earlier keys of 32 bytes each
 * @throws if a key has another length
 */
export function createSecretBox(key: Buffer, earlier: readonly Buffer[] = []): SecretBox {
  const boxes = [key, ...earlier].map(createKeyBox);
  const [current] = boxes as [KeyBox];
  const keyOf = (sealed: Buffer, context: string): number | null => {
    const index = boxes.findIndex((box) => box.open(sealed, context) !== null);
    return index < 0 ? null : index;
  };
  return {
    seal: current.seal,
    open: (sealed, context) => {
      for (const box of boxes) {
        const plain = box.open(sealed, context);
        if (plain !== null) return plain;
      }
      throw new Error('the sealed secret cannot be opened: it was altered, or the key or context is another');
    },
    keyOf,
    keys: boxes.length,
  };
}

/** Box with one key. `open` returns null if the text was altered, or sealed with another key or for another context. */
type KeyBox = {
  seal: (plain: string, context: string) => Buffer;
  open: (sealed: Buffer, context: string) => string | null;
};

/**
 * AES-256-GCM with a random nonce, so equal texts look different. Version and context are authenticated too. One key is
 * good for 2^32 seals (NIST SP 800-38D, 8.3), far beyond the secrets of one installation.
 */
function createKeyBox(key: Buffer): KeyBox {
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
      if (sealed.length < headLength || sealed[0] !== version[0]) return null;
      const nonce = sealed.subarray(version.length, version.length + nonceLength);
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength })
        .setAAD(authenticated(context))
        .setAuthTag(sealed.subarray(version.length + nonceLength, headLength));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(headLength)), decipher.final()]).toString('utf8');
      } catch {
        return null;
      }
    },
  };
}
