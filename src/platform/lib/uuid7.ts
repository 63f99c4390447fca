import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import { dayMs, dayOf } from './time.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const randomPool = Buffer.alloc(16 * 256);
let randomUsed = randomPool.length;

/** Returns 16 random bytes from a pool that is filled by a single system call. */
function randomBytes16(): Uint8Array {
  if (randomUsed === randomPool.length) {
    randomFillSync(randomPool);
    randomUsed = 0;
  }
  randomUsed += 16;
  return randomPool.subarray(randomUsed - 16, randomUsed);
}

/** Creates a UUIDv7, for example as a session ID. It contains its creation time. */
export const newUuid7 = (nowMs: number): string => v7({ msecs: nowMs, random: randomBytes16() });

/**
 * Returns the lowest UUIDv7 for a time in epoch milliseconds. IDs created earlier are lower. For times before 1970,
 * returns the lowest UUIDv7 of all.
 */
export function firstUuid7At(timeMs: number): string {
  const hex = Math.max(0, Math.floor(timeMs)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Returns the lowest UUIDv7 whose time is later than a given time. */
export const firstUuid7After = (time: Date): string => firstUuid7At(time.getTime() + 1);

/** Whether a string is a UUIDv7 in canonical lower-case form. */
export const isUuid7 = (text: string): boolean => uuidPattern.test(text);

/** Returns the time of a UUIDv7, in epoch milliseconds. */
export const timeOfUuid7 = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/**
 * Whether a string is an ID that this service may have issued. This excludes forged IDs with a time that calendars or
 * the database cannot represent. Times up to a day in the future are allowed, because clocks differ.
 */
export const isPossibleUuid7 = (text: string, nowMs: number): boolean =>
  isUuid7(text) && timeOfUuid7(text) <= nowMs + dayMs;

/** Returns the last 32 random bits of a UUIDv7, which serve as the random seed for the session's decision. */
export const seedOf = (id: string): number => Number.parseInt(id.slice(28), 16);

/**
 * Returns the UTC day of a session. All rows of a session have this day, so that they are stored and deduplicated in
 * one partition.
 */
export const dayOfUuid7 = (id: string): string => dayOf(timeOfUuid7(id));

/** Offset of each byte's two hex digits in the text form of a UUID. */
const digitOffsets = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const digits = Buffer.from('0123456789abcdef');
/** Values of hex digits by character code. */
const digitValues = Buffer.alloc(256);
for (const [value, code] of digits.entries()) digitValues[code] = value;

const textBuffer = Buffer.alloc(36, '-');

/**
 * Converting digit by digit takes a third of the time of slicing and concatenating text. Concatenation is slow because
 * V8 flattens the text as soon as it is read. The difference matters because every event ID is converted on its way
 * from a token to the database.
 */

/** Writes a UUID in canonical form to `bytes`, as 16 bytes at `offset`. */
export function writeUuid(id: string, bytes: Uint8Array, offset: number): void {
  for (let index = 0; index < 16; index += 1) {
    const at = digitOffsets[index] as number;
    bytes[offset + index] =
      ((digitValues[id.charCodeAt(at)] as number) << 4) | (digitValues[id.charCodeAt(at + 1)] as number);
  }
}

/** Reads the UUID stored in 16 bytes at `offset`. */
export function readUuid(bytes: Uint8Array, offset: number): string {
  for (let index = 0; index < 16; index += 1) {
    const byte = bytes[offset + index] as number;
    const at = digitOffsets[index] as number;
    textBuffer[at] = digits[byte >> 4] as number;
    textBuffer[at + 1] = digits[byte & 15] as number;
  }
  return textBuffer.toString('latin1');
}
