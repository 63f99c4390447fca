import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * Encrypts strings at rest. `context` identifies the purpose of a string, such as the row that it belongs to. The
 * context is not stored, and the same one is required for decryption.
 */
export type SecretBox = {
  /**
   * Encrypts a string.
   * @returns version (1 byte), nonce (12 bytes), tag (16 bytes), ciphertext (length of the string in UTF-8)
   */
  seal: (plain: string, context: string) => Buffer;
  /**
   * Decrypts a string.
   * @throws if the ciphertext was altered, truncated, or sealed with another key or for another context
   */
  open: (sealed: Buffer, context: string) => string;
  /**
   * Returns the index of the key that sealed a string. Index 0 is the current key. Returns null if no key matches or if
   * the ciphertext was altered.
   */
  keyOf: (sealed: Buffer, context: string) => number | null;
  /** Number of keys in the box, including earlier ones. */
  keys: number;
};

const algorithm = 'aes-256-gcm';
const version = Buffer.from([1]);
const keyLength = 32;
const nonceLength = 12;
const authTagLength = 16;
const headLength = version.length + nonceLength + authTagLength;

/**
 * Creates a box that seals with one key, and opens values sealed with this key or an earlier one (rotation). GCM
 * authentication reveals which key was used.
 * @param earlier earlier keys of 32 bytes each
 * @throws if a key is not 32 bytes long
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

/**
 * Box with a single key. `open` returns null if the text was altered, or sealed with another key or for another
 * context.
 */
type KeyBox = {
  seal: (plain: string, context: string) => Buffer;
  open: (sealed: Buffer, context: string) => string | null;
};

/**
 * Creates a box that uses AES-256-GCM with a random nonce, so that equal plaintexts produce different ciphertexts. The
 * version and context are authenticated too. One key is safe for 2^32 encryptions (NIST SP 800-38D, 8.3), far more than
 * the number of secrets in an installation.
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
