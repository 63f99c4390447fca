import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { TokenKey } from '../../config.ts';
import { createSigner, macLength } from './tracking-token.ts';

/**
 * Encrypts ids into texts that only this service can read. Equal ids produce equal texts until the first key changes.
 */
export type SealedIds = {
  /**
   * Encrypts an id.
   * @returns base64url text of the id's length plus 18 bytes
   */
  seal: (id: Buffer) => string;
  /** Decrypts a text that was sealed for this purpose. Returns null for any other text. */
  open: (text: string) => Buffer | null;
};

const algorithm = 'aes-256-ctr';
const version = 1;
const headLength = 2 + macLength;

/**
 * Creates an encryptor for ids of one length, with authenticated encryption for one purpose. The first configured key
 * seals; all keys open (rotation). The MAC of the id serves as the nonce (SIV construction, RFC 5297). For this reason,
 * no nonce needs to be stored or generated, and equal ids produce equal texts. Layout: 0 version · 1 key id · 2–17 MAC
 * · ciphertext with the length of the id.
 */
export function createSealedIds(keys: readonly TokenKey[], purpose: string, idLength: number): SealedIds {
  const signer = createSigner(keys, `${purpose} authentication`);
  const secrets = new Map(
    keys.map(({ id, secret }) => [id, createHmac('sha256', secret).update(`perkwire:${purpose} encryption`).digest()]),
  );
  const length = headLength + idLength;
  const newKey = secrets.get(signer.keyId) as Buffer;
  return {
    seal: (id) => {
      const mac = signer.sign(id);
      const cipher = createCipheriv(algorithm, newKey, mac);
      return Buffer.concat([Buffer.from([version, signer.keyId]), mac, cipher.update(id)]).toString('base64url');
    },
    open: (text) => {
      const sealed = Buffer.from(text, 'base64url');
      // Base64 can encode the same bytes in several ways. Only the canonical encoding is accepted.
      if (sealed.length !== length || sealed[0] !== version || sealed.toString('base64url') !== text) return null;
      const keyId = sealed[1] as number;
      const secret = secrets.get(keyId);
      if (secret === undefined) return null;
      const mac = sealed.subarray(2, headLength);
      const id = createDecipheriv(algorithm, secret, mac).update(sealed.subarray(headLength));
      return signer.verify(keyId, id, mac) ? id : null;
    },
  };
}
