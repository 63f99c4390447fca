import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Milliseconds of a day. */
export const dayMs = 86_400_000;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const randomPool = Buffer.alloc(16 * 256);
let randomUsed = randomPool.length;

/** 16 random bytes; the system is asked for many at once. */
function randomBytes16(): Uint8Array {
  if (randomUsed === randomPool.length) {
    randomFillSync(randomPool);
    randomUsed = 0;
  }
  randomUsed += 16;
  return randomPool.subarray(randomUsed - 16, randomUsed);
}

/** A new UUIDv7: the time is inside. */
export const newSessionId = (nowMs: number): string => v7({ msecs: nowMs, random: randomBytes16() });

/** The lowest UUIDv7 of a time: ids below it are of an earlier one. */
export function firstSessionId(timeMs: number): string {
  const hex = Math.floor(timeMs).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** The lowest UUIDv7 that is later than a time. */
export const firstIdAfter = (time: Date): string => firstSessionId(time.getTime() + 1);

/** Whether a text is a UUIDv7 in its canonical, lower-case form. */
export const isSessionId = (text: string): boolean => uuidPattern.test(text);

/** The time inside a UUIDv7, epoch milliseconds. */
export const sessionTimeMs = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

let lastDay = { start: 0, text: '' };

/** The UTC day (`2026-11-21`) of a time: the partition its rows live in. */
export function dayOf(timeMs: number): string {
  const start = timeMs - (timeMs % dayMs);
  if (start !== lastDay.start || lastDay.text === '') lastDay = { start, text: new Date(start).toISOString().slice(0, 10) };
  return lastDay.text;
}

/** The UTC day of a session: kept by all its rows, so that they are found, and deduped, in one partition. */
export const sessionDay = (id: string): string => dayOf(sessionTimeMs(id));

/** Writes a UUID as 16 bytes at `offset`. */
export const writeSessionId = (id: string, bytes: Buffer, offset: number): number => bytes.write(id.replaceAll('-', ''), offset, 'hex');

/** Reads 16 bytes at `offset` as a UUID. */
export function readSessionId(bytes: Buffer, offset: number): string {
  const hex = bytes.toString('hex', offset, offset + 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
