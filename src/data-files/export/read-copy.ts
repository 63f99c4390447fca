import type { ColumnType } from '../tables.ts';
import type { Value } from './partition-file.ts';

/** Length of the header of a binary copy before its extension: the signature, flags and the extension's length. */
const headerLength = 19;

/** Days and microseconds between 1970 and 2000, the epoch of PostgreSQL's dates and times. */
const epochDays = 10_957;
const epochMicros = 946_684_800_000_000n;

/** Reads a value of a binary copy. */
type Read = (bytes: Buffer, at: number, length: number) => Value;

const readers: Record<ColumnType, Read> = {
  // A copy, because a part of a chunk keeps the whole chunk in memory.
  id: (bytes, at, length) => Uint8Array.prototype.slice.call(bytes, at, at + length),
  text: (bytes, at, length) => bytes.toString('utf8', at, at + length),
  int: (bytes, at) => bytes.readInt32BE(at),
  micros: (bytes, at) => bytes.readBigInt64BE(at),
  bool: (bytes, at) => bytes[at] === 1,
  time: (bytes, at) => bytes.readBigInt64BE(at) + epochMicros,
};

/**
 * Returns an array per column, to which the values of a row are added.
 * @param day number of days since 1970
 * @param size size of the row, in bytes
 */
export type ColumnsOf = (publisherId: number, day: number, isTest: boolean, size: number) => readonly Value[][];

/**
 * Reads the rows of a binary copy, as `copySql` returns them.
 * @param afterChunk called after each chunk of rows
 */
export async function readCopy(
  source: AsyncIterable<Buffer>,
  types: readonly ColumnType[],
  columnsOf: ColumnsOf,
  afterChunk: () => Promise<void>,
): Promise<void> {
  const reads = types.map((type) => readers[type]);
  let rest: Buffer = Buffer.alloc(0);
  let hasHeader = false;
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    if (!hasHeader) {
      if (bytes.length < headerLength) {
        rest = bytes;
        continue;
      }
      at = headerLength + bytes.readInt32BE(headerLength - 4);
      hasHeader = true;
    }
    for (;;) {
      const end = endOfRow(bytes, at);
      if (end === null) break;
      // A row starts with the number of columns. Publisher, day and test mark follow, each with its (fixed) length.
      const day = bytes.readInt32BE(at + 14) + epochDays;
      const columns = columnsOf(bytes.readInt32BE(at + 6), day, bytes[at + 22] === 1, end - at);
      at += 23;
      for (let index = 0; index < reads.length; index++) {
        const length = bytes.readInt32BE(at);
        at += 4;
        (columns[index] as Value[]).push(length < 0 ? null : (reads[index] as Read)(bytes, at, length));
        if (length > 0) at += length;
      }
    }
    rest = bytes.subarray(at);
    await afterChunk();
  }
}

/** Returns the end of the row at a position, null if the row is incomplete, or the end of the copy. */
function endOfRow(bytes: Buffer, start: number): number | null {
  if (start + 2 > bytes.length) return null;
  const fields = bytes.readInt16BE(start);
  if (fields < 0) return null;
  let at = start + 2;
  for (let field = 0; field < fields; field++) {
    if (at + 4 > bytes.length) return null;
    const length = bytes.readInt32BE(at);
    at += 4 + (length > 0 ? length : 0);
  }
  return at > bytes.length ? null : at;
}
