import { setImmediate } from 'node:timers/promises';

/*
 * A sketch contains a sample of users with their numbers of impressions. Users are sampled by hash: the sketch contains
 * all users whose hash is below its limit. With up to `maxUsers` users, the limit is the maximum, so the sketch is
 * exact. With more users, the limit is lowered to the next hash. This is the k-minimum-values method, as in the theta
 * sketches of Apache DataSketches. Its relative standard error is 1 / sqrt(maxUsers), or 0.6%.
 *
 * The limit never rises, so a user in the sample has been in it from the start, with all impressions. Sketches can
 * therefore be merged in any order, and impressions can be subtracted. A user whose impressions reach 0 is removed.
 */

/** Maximum number of users in a sketch. */
export const maxUsers = 32_768;

/** Sizes of a user's hash and of the number of impressions, in bytes. */
const [hashBytes, countBytes] = [5, 3];
const entryBytes = hashBytes + countBytes;
/** Length of the header: the version of the format, and the limit. */
const headBytes = 1 + hashBytes + 1;
const version = 1;
const hashRange = 2 ** (8 * hashBytes);
const maxCount = 2 ** (8 * countBytes) - 1;

/** Sketch in memory. It may hold more users than `maxUsers` until it is trimmed. */
export type Sketch = {
  limit: number;
  /** Limit to which the sketch was last trimmed. All users in the sketch have hashes below it. */
  trimmedTo: number;
  impressionsOf: Map<number, number>;
};

export const createSketch = (): Sketch => ({ limit: hashRange, trimmedTo: hashRange, impressionsOf: new Map() });

/**
 * Returns the hash of a user key. The key is a keyed hash, whose first bytes are the same for all users
 * (`platform/security/user-key.ts`), so the last ones are used.
 */
export const hashOfKey = (userKey: string): number => Number.parseInt(userKey.slice(-2 * hashBytes), 16);

/**
 * Number of sketch bytes after which to yield to other work. Reading or writing them takes one or two milliseconds.
 */
const bytesPerTurn = 65_536;

/** Returns a function that yields to other work whenever enough sketch bytes have been processed. */
export function createPauses(): (bytes: number) => Promise<void> | null {
  let sinceLast = 0;
  return (bytes) => {
    sinceLast += bytes;
    if (sinceLast < bytesPerTurn) return null;
    sinceLast = 0;
    return setImmediate();
  };
}

/** Adds impressions of a user. A negative number subtracts them. */
export function addImpressions(sketch: Sketch, hash: number, impressions: number): void {
  if (hash >= sketch.limit) return;
  const { impressionsOf } = sketch;
  const sum = (impressionsOf.get(hash) ?? 0) + impressions;
  if (sum === 0) impressionsOf.delete(hash);
  else impressionsOf.set(hash, sum);
  if (impressionsOf.size > 2 * maxUsers) trim(sketch);
}

/** Lowers the limit until at most `maxUsers` users are below it, and removes all others. */
function trim(sketch: Sketch): void {
  const { impressionsOf } = sketch;
  if (impressionsOf.size > maxUsers) {
    const hashes = Float64Array.from(impressionsOf.keys()).sort();
    sketch.limit = Math.min(sketch.limit, hashes[maxUsers] as number);
  }
  if (sketch.limit === sketch.trimmedTo) return;
  for (const hash of impressionsOf.keys()) if (hash >= sketch.limit) impressionsOf.delete(hash);
  sketch.trimmedTo = sketch.limit;
}

/** SQL for the beginning of an encoded sketch, up to a given number of users. */
export const firstUsersSql = (sketch: string, users: string): string =>
  `substring(${sketch} from 1 for ${headBytes} + ${entryBytes} * least(${maxUsers}, ${users})::integer)`;

/**
 * Adds the users of an encoded sketch.
 * @param size length of the whole sketch. `bytes` may be only its beginning, which is a sketch with a lower limit.
 */
export function mergeEncoded(sketch: Sketch, bytes: Buffer, size: number = bytes.length): void {
  if (bytes[0] !== version) throw new Error(`unknown version of a sketch: ${bytes[0]}`);
  const { length } = bytes;
  const isWhole = length === size;
  const limit = isWhole ? bytes.readUIntBE(1, hashBytes + 1) : bytes.readUIntBE(length - entryBytes, hashBytes);
  sketch.limit = Math.min(sketch.limit, limit);
  for (let at = headBytes; at < length; at += entryBytes) {
    const hash = bytes.readUIntBE(at, hashBytes);
    if (hash >= sketch.limit) return; // the hashes are sorted
    addImpressions(sketch, hash, bytes.readUIntBE(at + hashBytes, countBytes));
  }
}

/** Adds the users of another sketch. */
export function mergeSketch(sketch: Sketch, other: Sketch): void {
  sketch.limit = Math.min(sketch.limit, other.limit);
  for (const [hash, impressions] of other.impressionsOf) addImpressions(sketch, hash, impressions);
}

/** Encodes a sketch: 8 bytes for each user, sorted by hash, after a header of 7 bytes. */
export function encodeSketch(sketch: Sketch): Buffer {
  trim(sketch);
  const { limit, impressionsOf } = sketch;
  const bytes = Buffer.allocUnsafe(headBytes + impressionsOf.size * entryBytes);
  bytes[0] = version;
  let at = bytes.writeUIntBE(limit, 1, hashBytes + 1);
  // A typed array of hashes is sorted ten times as fast as an array of entries.
  for (const hash of Float64Array.from(impressionsOf.keys()).sort()) {
    const impressions = impressionsOf.get(hash) ?? 0;
    if (impressions <= 0) continue;
    at = bytes.writeUIntBE(hash, at, hashBytes);
    at = bytes.writeUIntBE(Math.min(impressions, maxCount), at, countBytes);
  }
  return bytes.subarray(0, at);
}

/** Returns the impressions of the users in the sample, by hash. */
export function usersOf(sketch: Sketch): ReadonlyMap<number, number> {
  trim(sketch);
  return sketch.impressionsOf;
}

/** Returns the share of all users that is in the sample, from 0 to 1. It is 1 if the sketch is exact. */
export function shareOf(sketch: Sketch): number {
  trim(sketch);
  return sketch.limit / hashRange;
}

/** Returns the estimated number of users. */
export function countUsers(sketch: Sketch): number {
  const share = shareOf(sketch);
  return Math.round(sketch.impressionsOf.size / share);
}
