import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { TokenKey } from '../../config.ts';
import { createSigner, macLength } from './tracking-token.ts';

/**
 * Encrypts IDs as tokens that only this service can decrypt. Equal IDs produce equal tokens until the first key
 * changes.
 */
export type SealedIds = {
  /**
   * Encrypts an ID.
   * @returns base64url text, which encodes 18 bytes more than the ID has
   */
  seal: (id: Buffer) => string;
  /** Decrypts a token that was sealed for this purpose. Returns null for any other string. */
  open: (text: string) => Buffer | null;
};

const algorithm = 'aes-256-ctr';
const version = 1;
const headLength = 2 + macLength;

/**
 * Creates an encryptor for IDs of a fixed length. It uses authenticated encryption and serves a single purpose. The
 * first configured key seals, and all keys open (rotation). The MAC of the ID serves as the nonce (SIV construction,
 * RFC 5297). Therefore, no nonce has to be generated or stored, and equal IDs produce equal tokens. Layout: 0 version ·
 * 1 key ID · 2–17 MAC · ciphertext with the length of the ID.
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
      // Several base64 strings can decode to the same bytes. Accept only the canonical one.
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
