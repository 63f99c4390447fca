import { dayMs } from '../lib/time.ts';
import { writeUuid } from '../lib/uuid7.ts';

/**
 * Encodes an array in PostgreSQL's binary parameter format. The server then does not have to parse text, which makes a
 * batch of events 10% cheaper. The statement must cast the parameter to the array type, such as `$1::integer[]`.
 * @param pick returns the value for an item; null becomes NULL
 */
export type BinaryArray<Value> = <Item>(items: readonly Item[], pick: (item: Item) => Value | null) => Buffer;

type Write<Value> = (bytes: Buffer, value: Value, at: number) => void;

const headLength = 20;
const lengthOfNull = -1;

/** Creates an encoder for a type whose values all have the given size, in bytes. */
function arrayOf<Value>(oid: number, size: number, write: Write<Value>): BinaryArray<Value> {
  return (items, pick) => {
    const bytes = Buffer.allocUnsafe(headLength + items.length * (4 + size));
    let at = headLength;
    let hasNull = false;
    for (const item of items) {
      const value = pick(item);
      if (value === null) {
        hasNull = true;
        at = bytes.writeInt32BE(lengthOfNull, at);
      } else {
        at = bytes.writeInt32BE(size, at);
        write(bytes, value, at);
        at += size;
      }
    }
    writeHead(bytes, { oid, count: items.length, hasNull });
    return bytes.subarray(0, at);
  };
}

/**
 * Writes the array header: one dimension, whether there are NULLs, the element type, the length, and the lower bound.
 */
function writeHead(bytes: Buffer, { oid, count, hasNull }: { oid: number; count: number; hasNull: boolean }): void {
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(hasNull ? 1 : 0, 4);
  bytes.writeInt32BE(oid, 8);
  bytes.writeInt32BE(count, 12);
  bytes.writeInt32BE(1, 16);
}

const high = 2 ** 32;

/** Writes a safe integer as a 64-bit integer. */
function writeInt64(bytes: Buffer, value: number, at: number): void {
  const upper = Math.floor(value / high);
  bytes.writeInt32BE(upper, at);
  bytes.writeUInt32BE(value - upper * high, at + 4);
}

/** Epoch of PostgreSQL timestamps. */
const epochMs = Date.UTC(2000, 0, 1);

export const booleans = arrayOf<boolean>(16, 1, (bytes, value, at) => bytes.writeUInt8(value ? 1 : 0, at));
export const smallints = arrayOf<number>(21, 2, (bytes, value, at) => bytes.writeInt16BE(value, at));
export const integers = arrayOf<number>(23, 4, (bytes, value, at) => bytes.writeInt32BE(value, at));
export const bigints = arrayOf<number>(20, 8, writeInt64);
export const uuids = arrayOf<string>(2950, 16, (bytes, value, at) => writeUuid(value, bytes, at));

/** Encodes UUIDs that are stored one after another, with 16 bytes each. */
export function packedUuids(keys: Buffer): Buffer {
  const count = keys.length / 16;
  const bytes = Buffer.allocUnsafe(headLength + count * 20);
  for (let index = 0; index < count; index += 1) {
    const at = bytes.writeInt32BE(16, headLength + index * 20);
    keys.copy(bytes, at, index * 16, index * 16 + 16);
  }
  writeHead(bytes, { oid: 2950, count, hasNull: false });
  return bytes;
}

/** Encodes times in epoch milliseconds as PostgreSQL dates, in UTC. */
export const dates = arrayOf<number>(1082, 4, (bytes, ms, at) =>
  bytes.writeInt32BE(Math.floor((ms - epochMs) / dayMs), at),
);
/** Encodes times in epoch milliseconds as timestamps. */
export const timestamps = arrayOf<number>(1184, 8, (bytes, ms, at) =>
  writeInt64(bytes, Math.round((ms - epochMs) * 1000), at),
);

/** Creates an encoder for a type with variable-size values. */
function variableArrayOf<Value>(
  oid: number,
  lengthOf: (value: Value) => number,
  write: (bytes: Buffer, value: Value, at: number) => number,
): BinaryArray<Value> {
  return (items, pick) => {
    const values = items.map(pick);
    const size = values.reduce<number>((sum, value) => sum + 4 + (value === null ? 0 : lengthOf(value)), 0);
    const bytes = Buffer.allocUnsafe(headLength + size);
    let at = headLength;
    for (const value of values) {
      const length = value === null ? 0 : write(bytes, value, at + 4);
      bytes.writeInt32BE(value === null ? lengthOfNull : length, at);
      at += 4 + length;
    }
    writeHead(bytes, { oid, count: items.length, hasNull: values.includes(null) });
    return bytes;
  };
}

export const texts = variableArrayOf<string>(25, Buffer.byteLength, (bytes, value, at) => bytes.write(value, at));
export const byteas = variableArrayOf<Buffer>(
  17,
  (value) => value.length,
  (bytes, value, at) => value.copy(bytes, at),
);

/**
 * Wraps an array parameter in SQL that hides its length from the planner. Without this, PostgreSQL replans a prepared
 * statement for each array shorter than its default estimate of ten values, and for small batches, planning costs more
 * than execution.
 */
export const unread = (parameter: string): string => `(select ${parameter})`;
