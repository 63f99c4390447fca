import { randomBytes } from 'node:crypto';
import { tokenLength } from '../../platform/security/tracking-token.ts';

/** One-byte text with a token in several places: its bytes, and the offsets of the token. */
export type OfferTemplate = { bytes: Buffer; tokenOffsets: readonly number[] };

/** Stands for the token in the text of a template, and is as long. */
export const tokenPlaceholder = randomBytes((tokenLength * 3) / 4).toString('base64url');

export function compileTemplate(text: string): OfferTemplate {
  const tokenOffsets: number[] = [];
  for (let at = text.indexOf(tokenPlaceholder); at !== -1; at = text.indexOf(tokenPlaceholder, at + tokenLength))
    tokenOffsets.push(at);
  return { bytes: Buffer.from(text, 'latin1'), tokenOffsets };
}

/** Writes a template with its token at `offset`. @returns where it ends */
function writeTemplate({ bytes, tokenOffsets }: OfferTemplate, token: string, into: Buffer, offset: number): number {
  into.set(bytes, offset);
  const [first, ...others] = tokenOffsets;
  if (first !== undefined) {
    into.write(token, offset + first, 'latin1');
    for (const other of others) into.copyWithin(offset + other, offset + first, offset + first + tokenLength);
  }
  return offset + bytes.length;
}

/** A part of an answer: one-byte text, or an offer's template with its token. */
export type Part = string | Buffer | { template: OfferTemplate; token: string };

/** The bytes of a whole answer, in memory of `take`. */
export function joinParts(parts: readonly Part[], take: (length: number) => Buffer): Buffer {
  let length = 0;
  for (const part of parts) length += (isOffer(part) ? part.template.bytes : part).length;
  const answer = take(length);
  let at = 0;
  for (const part of parts) {
    if (isOffer(part)) at = writeTemplate(part.template, part.token, answer, at);
    else if (typeof part === 'string') at += answer.write(part, at, 'latin1');
    else {
      answer.set(part, at);
      at += part.length;
    }
  }
  return answer;
}

const isOffer = (part: Part): part is { template: OfferTemplate; token: string } =>
  typeof part === 'object' && !Buffer.isBuffer(part);

/** JSON with everything beyond ASCII escaped: one byte a character, so that an answer becomes bytes by a plain copy. */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
