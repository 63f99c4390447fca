import { randomBytes } from 'node:crypto';
import { refuseCode } from '../code-text.ts';

/** A code among bytes, and the number of its line, from 1. `problem`: why it is none. */
export type Line = { bytes: Buffer; start: number; end: number; line: number; problem: string | null };

/** The codes of a list. */
export function* linesOf(codes: readonly string[]): Generator<Line> {
  for (const [index, code] of codes.entries()) {
    const bytes = Buffer.from(code.trim());
    yield { bytes, start: 0, end: bytes.length, line: index + 1, problem: refuseCode(code.trim()) };
  }
}

/** What stands for a character in a pattern; without those that readers mistake for one another. */
const alphabets: Readonly<Record<string, string>> = {
  '#': '0123456789',
  '?': 'ABCDEFGHJKLMNPQRSTUVWXYZ',
  '*': 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789',
};

/** Guesses that hit one of the codes of a pool: one in this many at most (count). */
export const safeOdds = 1_000_000;

/** How many different codes a pattern has (count). */
export const codesOf = (pattern: string): number =>
  [...pattern].reduce((product, character) => product * (alphabets[character]?.length ?? 1), 1);

/** Codes of a pattern, without end: drawn at random, so some may come twice. */
export function* makeCodes(pattern: string): Generator<Line> {
  const places = [...pattern];
  const draws = places.filter((character) => alphabets[character] !== undefined).length;
  for (let line = 1; ; line += 1) {
    const random = randomBytes(4 * draws);
    let drawn = 0;
    const characters = places.map((character) => {
      const alphabet = alphabets[character];
      // Of 32 bits, the remainder of a division by 32 at most is even to a hundred-millionth.
      return alphabet === undefined ? character : alphabet[random.readUInt32LE(4 * drawn++) % alphabet.length];
    });
    const bytes = Buffer.from(characters.join(''));
    yield { bytes, start: 0, end: bytes.length, line, problem: null };
  }
}
