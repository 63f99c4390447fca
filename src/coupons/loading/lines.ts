import { randomBytes } from 'node:crypto';
import type { Problem } from '../../platform/problem.ts';
import { refuseCode } from '../code-text.ts';

/**
 * Code as a byte range in a buffer, with its line number (from 1). `problem` is the reason why the code is invalid, or
 * null if it is valid.
 */
export type Line = { bytes: Buffer; start: number; end: number; line: number; problem: Problem | null };

/** Converts a list of codes to `Line` objects. */
export function* linesOf(codes: readonly string[]): Generator<Line> {
  for (const [index, code] of codes.entries()) {
    const bytes = Buffer.from(code.trim());
    yield { bytes, start: 0, end: bytes.length, line: index + 1, problem: refuseCode(code.trim()) };
  }
}

/** Characters that each pattern character stands for. Characters that are easily confused are left out. */
const alphabets: Readonly<Record<string, string>> = {
  '#': '0123456789',
  '?': 'ABCDEFGHJKLMNPQRSTUVWXYZ',
  '*': 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789',
};

/** Minimum number of possible codes per valid code at which a pattern is safe from guessing. */
export const safeOdds = 1_000_000;

/** Returns the number of distinct codes that a pattern can produce. */
export const codesOf = (pattern: string): number =>
  [...pattern].reduce((product, character) => product * (alphabets[character]?.length ?? 1), 1);

/** Returns how many possible codes of a pattern there are for each valid code. `codes` is the number of valid codes. */
export const guessOdds = (pattern: string, codes: number): number =>
  Math.max(1, Math.min(Math.floor(codesOf(pattern) / Math.max(1, codes)), Number.MAX_SAFE_INTEGER));

/** Yields an endless sequence of random codes that match a pattern. Codes may repeat. */
export function* makeCodes(pattern: string): Generator<Line> {
  const places = [...pattern];
  const draws = places.filter((character) => alphabets[character] !== undefined).length;
  for (let line = 1; ; line += 1) {
    const random = randomBytes(4 * draws);
    let drawn = 0;
    const characters = places.map((character) => {
      const alphabet = alphabets[character];
      // The modulo bias is below 1e-8, because a 32-bit random number is reduced modulo at most 32.
      return alphabet === undefined ? character : alphabet[random.readUInt32LE(4 * drawn++) % alphabet.length];
    });
    const bytes = Buffer.from(characters.join(''));
    yield { bytes, start: 0, end: bytes.length, line, problem: null };
  }
}
