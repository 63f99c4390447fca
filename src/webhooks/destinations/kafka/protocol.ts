import { fail } from '../../dispatcher/send/result.ts';
import { AnswerError } from '../broker.ts';

/*
 * Encoding of the Kafka protocol: the values of requests and responses, record batches (version 2) and the hash that
 * chooses a partition.
 */

/** Error of a response that is not in the expected format. */
class FormatError extends AnswerError {
  constructor() {
    super(fail('protocol', 'the server sent a response in an unknown format'));
  }
}

export type Reader = ReturnType<typeof createReader>;

/** Creates a reader for the values in a response. It throws a `FormatError` if the response is too short. */
export function createReader(data: Buffer) {
  let position = 0;
  const skip = (size: number): number => {
    if (size < 0 || position + size > data.length) throw new FormatError();
    position += size;
    return position - size;
  };
  const int16 = (): number => data.readInt16BE(skip(2));
  const int32 = (): number => data.readInt32BE(skip(4));
  const sized = (size: number): Buffer => {
    const start = skip(size);
    return data.subarray(start, start + size);
  };
  return {
    boolean: (): boolean => data.readInt8(skip(1)) !== 0,
    int16,
    int32,
    int64: (): bigint => data.readBigInt64BE(skip(8)),
    /** Reads a string. Null is returned as an empty string. */
    string: (): string => sized(Math.max(0, int16())).toString('utf8'),
    /** Reads bytes. Null is returned as an empty buffer. */
    bytes: (): Buffer => sized(Math.max(0, int32())),
    /** Reads an array. Each element has at least one byte, so the data limits the number of elements. */
    array: <Item>(read: () => Item): Item[] => {
      const count = int32();
      if (count > data.length - position) throw new FormatError();
      return Array.from({ length: Math.max(0, count) }, read);
    },
  };
}

export function int16(value: number): Buffer {
  const data = Buffer.alloc(2);
  data.writeInt16BE(value);
  return data;
}

export function int32(value: number): Buffer {
  const data = Buffer.alloc(4);
  data.writeInt32BE(value);
  return data;
}

function int64(value: bigint): Buffer {
  const data = Buffer.alloc(8);
  data.writeBigInt64BE(value);
  return data;
}

/** Encodes a string, or null. */
export function string(value: string | null): Buffer {
  if (value === null) return int16(-1);
  const content = Buffer.from(value);
  return Buffer.concat([int16(content.length), content]);
}

export const bytes = (value: Buffer): Buffer => Buffer.concat([int32(value.length), value]);

/** Encodes an integer of up to 31 bits as a zigzag varint. */
function varint(value: number): Buffer {
  const data: number[] = [];
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  for (; rest > 0x7f; rest >>>= 7) data.push((rest & 0x7f) | 0x80);
  return Buffer.from([...data, rest]);
}

const sized = (value: Buffer): Buffer => Buffer.concat([varint(value.length), value]);

export type KafkaRecord = {
  key: Buffer;
  value: Buffer;
  headers: Readonly<Record<string, string>>;
  timestampMs: number;
};

/**
 * Number of a record in the sequence of a producer. The broker drops a record that it has already stored under this
 * number.
 */
export type Sequence = { producerId: bigint; epoch: number; sequence: number };

/** Encodes a batch with one record. */
export function encodeBatch(
  { key, value, headers, timestampMs }: KafkaRecord,
  { producerId, epoch, sequence }: Sequence,
): Buffer {
  const encodedHeaders = Object.entries(headers).flatMap(([name, text]) => [
    sized(Buffer.from(name)),
    sized(Buffer.from(text)),
  ]);
  const record = Buffer.concat([
    Buffer.from([0, 0, 0]), // attributes, and differences from the timestamp and the offset of the batch
    sized(key),
    sized(value),
    varint(encodedHeaders.length / 2),
    ...encodedHeaders,
  ]);
  const time = int64(BigInt(timestampMs));
  const checked = Buffer.concat([
    int16(0), // attributes: not compressed, time of creation
    int32(0), // last offset
    time, // first timestamp
    time, // last timestamp
    int64(producerId),
    int16(epoch),
    int32(sequence),
    int32(1), // number of records
    sized(record),
  ]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32c(checked));
  const formatVersion = 2;
  const rest = Buffer.concat([int32(-1), Buffer.from([formatVersion]), checksum, checked]);
  return Buffer.concat([int64(0n), int32(rest.length), rest]);
}

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let remainder = index;
  for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0x82f63b78 : 0);
  return remainder >>> 0;
});

/** CRC-32C (Castagnoli) checksum. `zlib.crc32` uses another polynomial. */
export function crc32c(data: Buffer): number {
  let remainder = 0xffffffff;
  for (const byte of data) remainder = (remainder >>> 8) ^ (crcTable[(remainder ^ byte) & 0xff] as number);
  return (remainder ^ 0xffffffff) >>> 0;
}

/** MurmurHash2 of a key. It chooses the same partition as the Java client. */
export function murmur2(key: Buffer): number {
  const factor = 0x5bd1e995;
  const blocks = key.length >> 2;
  let state = 0x9747b28c ^ key.length;
  for (let block = 0; block < blocks; block++) {
    const mixed = Math.imul(key.readInt32LE(block * 4), factor);
    state = Math.imul(state, factor) ^ Math.imul(mixed ^ (mixed >>> 24), factor);
  }
  const rest = key.subarray(blocks * 4);
  if (rest.length > 0) {
    for (const [index, byte] of rest.entries()) state ^= byte << (8 * index);
    state = Math.imul(state, factor);
  }
  state = Math.imul(state ^ (state >>> 13), factor);
  return state ^ (state >>> 15);
}

/** Returns the partition of a key. */
export const partitionOf = (key: Buffer, partitions: number): number => (murmur2(key) & 0x7fffffff) % partitions;
