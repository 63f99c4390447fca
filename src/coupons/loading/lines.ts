import { randomBytes } from 'node:crypto';
import { maxCodeLength, refuseCode } from '../code-text.ts';

/** A code among bytes, and the number of its line, from 1. `problem`: why it is none. */
export type Line = { bytes: Buffer; start: number; end: number; line: number; problem: string | null };

/** The longest field that is looked at (bytes): a code with the blanks and quotes around it. */
const maxFieldBytes = 1024;
const tooLong = `is longer than ${maxFieldBytes} bytes; a code may have ${maxCodeLength} characters`;

/** How much is read between two places to pause (bytes): 1 to 2 ms. */
const bytesPerPause = 256 * 1024;

const [newline, carriageReturn, blank, tab, comma, semicolon, quote] = [10, 13, 32, 9, 44, 59, 34];
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

const isBlank = (byte: number | undefined): boolean => byte === blank || byte === tab || byte === carriageReturn;

/** The first line of a file that names its column. */
const header = /^(coupon[ _-]?)?codes?$/i;

/**
 * The codes of a CSV file: the first field of each line, without blanks and quotes around it. Empty lines, a byte order
 * mark and a heading such as `code` are skipped. The same object for every line: read it before the next. null: a place
 * to pause, also where no line has a code.
 */
export function* readLines(bytes: Buffer): Generator<Line | null> {
  const found: Line = { bytes, start: 0, end: 0, line: 0, problem: null };
  let at = bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
  let pausedAt = at;
  for (let line = 1; at < bytes.length; line += 1) {
    if (at - pausedAt >= bytesPerPause) {
      pausedAt = at;
      yield null;
    }
    let start = at;
    let isPlain = true;
    const limit = Math.min(bytes.length, start + maxFieldBytes);
    for (; at < limit; at += 1) {
      const byte = bytes[at] as number;
      if (byte === newline || byte === comma || byte === semicolon || byte === tab) break;
      // Control characters and what is not ASCII need another look.
      if (byte < blank && byte !== carriageReturn) isPlain = false;
      else if (byte > 126 || byte === quote) isPlain = false;
    }
    let end = at;
    const isTooLong = end - start === maxFieldBytes;
    if (bytes[at] !== newline) at = bytes.indexOf(newline, at);
    at = at < 0 ? bytes.length : at + 1;
    while (start < end && isBlank(bytes[start])) start += 1;
    while (end > start && isBlank(bytes[end - 1])) end -= 1;
    if (bytes[start] === quote && bytes[end - 1] === quote && end - start >= 2) {
      start += 1;
      end -= 1;
      while (start < end && isBlank(bytes[start])) start += 1;
      while (end > start && isBlank(bytes[end - 1])) end -= 1;
    }
    if (start === end && !isTooLong) continue;
    if (line === 1 && header.test(bytes.toString('latin1', start, end))) continue;
    found.start = start;
    found.end = end;
    found.line = line;
    if (isTooLong) found.problem = tooLong;
    else if (isPlain && end - start <= maxCodeLength) found.problem = null;
    else found.problem = refuseCode(bytes.toString('utf8', start, end));
    yield found;
  }
}

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
