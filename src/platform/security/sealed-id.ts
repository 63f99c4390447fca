import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { TokenKey } from '../../config.ts';
import { createSigner, macLength } from './tracking-token.ts';

/**
 * Hides ids in texts that only this service can read. Equal ids give equal texts as long as the first key stays the
 * same.
 */
export type SealedIds = {
  /**
   * Seals an id.
   * @returns base64url of 18 bytes more than the id has
   */
  seal: (id: Buffer) => string;
  /** Returns the id of a text sealed for this purpose, or null for anything else. */
  open: (text: string) => Buffer | null;
};

const algorithm = 'aes-256-ctr';
const version = 1;
const headLength = 2 + macLength;

/**
 * Creates sealed ids of one length, encrypted and authenticated for one purpose with the configured keys: the first key
 * seals, all open (rotation). The MAC of the id serves as nonce (the construction of SIV, RFC 5297), so nothing needs
 * to be stored or drawn, and equal ids give equal texts. Layout: 0 version · 1 key id · 2–17 MAC · ciphertext, as long
 * as the id.
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
      // Base64 can encode the same bytes in several ways; only the canonical one is accepted.
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
