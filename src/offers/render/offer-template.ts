import { randomBytes } from 'node:crypto';
import { tokenLength } from '../../platform/security/tracking-token.ts';

/** One-byte text that is the same but for a token in several places: its bytes, and where the token goes. */
export type Stencil = { bytes: Buffer; holes: readonly number[] };

/** Stands for the token in a text that a stencil is made of, and takes as much room. */
export const hole = randomBytes((tokenLength * 3) / 4).toString('base64url');

export function makeStencil(text: string): Stencil {
  const holes: number[] = [];
  for (let at = text.indexOf(hole); at !== -1; at = text.indexOf(hole, at + tokenLength)) holes.push(at);
  return { bytes: Buffer.from(text, 'latin1'), holes };
}

/** Writes a stencil with a token at `offset`. @returns where it ends */
export function writeStencil({ bytes, holes }: Stencil, token: string, into: Buffer, offset: number): number {
  into.set(bytes, offset);
  const [first, ...others] = holes;
  if (first !== undefined) {
    into.write(token, offset + first, 'latin1');
    for (const other of others) into.copyWithin(offset + other, offset + first, offset + first + tokenLength);
  }
  return offset + bytes.length;
}
