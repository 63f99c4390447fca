import { randomBytes } from 'node:crypto';
import type { Problem } from '../../platform/problem.ts';
import { refuseCode } from '../code-text.ts';

/** A code within a buffer, and its line number from 1. `problem`: why it is invalid. */
export type Line = { bytes: Buffer; start: number; end: number; line: number; problem: Problem | null };

/** Converts a list of codes to lines. */
export function* linesOf(codes: readonly string[]): Generator<Line> {
  for (const [index, code] of codes.entries()) {
    const bytes = Buffer.from(code.trim());
    yield { bytes, start: 0, end: bytes.length, line: index + 1, problem: refuseCode(code.trim()) };
  }
}

/** Alphabets of pattern characters, without characters that are easily confused. */
const alphabets: Readonly<Record<string, string>> = {
  '#': '0123456789',
  '?': 'ABCDEFGHJKLMNPQRSTUVWXYZ',
  '*': 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789',
};

/** Required odds against guessing one of the codes of a pool. */
export const safeOdds = 1_000_000;

/** Number of different codes of a pattern. */
export const codesOf = (pattern: string): number =>
  [...pattern].reduce((product, character) => product * (alphabets[character]?.length ?? 1), 1);

/** Generates random codes of a pattern without end; duplicates are possible. */
export function* makeCodes(pattern: string): Generator<Line> {
  const places = [...pattern];
  const draws = places.filter((character) => alphabets[character] !== undefined).length;
  for (let line = 1; ; line += 1) {
    const random = randomBytes(4 * draws);
    let drawn = 0;
    const characters = places.map((character) => {
      const alphabet = alphabets[character];
      // The remainder of 32 random bits divided by at most 32 is uniform to within 1e-8.
      return alphabet === undefined ? character : alphabet[random.readUInt32LE(4 * drawn++) % alphabet.length];
    });
    const bytes = Buffer.from(characters.join(''));
    yield { bytes, start: 0, end: bytes.length, line, problem: null };
  }
}
