import type { DataTable } from '../tables.ts';
import type { Chunk, Column } from './columns.ts';

/** Length of the header of a binary copy before its extension: the signature, flags and the extension's length. */
const headerLength = 19;

/** Days between 1970 and 2000, the epoch of PostgreSQL's dates. */
const epochDays = 10_957;

/** Row of a copy. */
export type CopyRow = {
  publisherId: number;
  /** Number of days since 1970. */
  day: number;
  isTest: boolean;
  /** Number of rows that it becomes. */
  rows: number;
  /** Size of the row, in bytes. */
  size: number;
};

/**
 * Reads the rows of a binary copy, as `copySql` returns them.
 * @param columnsOf returns the columns to which the values of a row are added
 * @param afterChunk called after each chunk of rows
 */
export async function readCopy(
  source: AsyncIterable<Buffer>,
  table: DataTable,
  columnsOf: (row: CopyRow) => readonly Column[],
  afterChunk: () => Promise<void>,
): Promise<void> {
  const prefix = table.elements === undefined ? 3 : 4;
  /** Positions of the lengths of all fields, and of the end of the row. */
  const positions = new Int32Array(prefix + Object.keys(table.columns).length + 1);
  const positionOf = (field: number): number => positions[field] as number;
  let rest: Buffer = Buffer.alloc(0);
  let hasHeader = false;
  for await (const part of source) {
    const { buffer, byteOffset, length } = rest.length === 0 ? part : Buffer.concat([rest, part]);
    const view = new DataView(buffer, byteOffset, length);
    const chunk: Chunk = { bytes: new Uint8Array(buffer, byteOffset, length), view };
    let at = 0;
    if (!hasHeader && length >= headerLength) {
      at = headerLength + view.getInt32(headerLength - 4);
      hasHeader = true;
    }
    while (hasHeader && findFields(view, at, positions)) {
      const end = positionOf(positions.length - 1);
      const rows = prefix === 3 ? 1 : view.getInt32(positionOf(3) + 4);
      const columns = columnsOf({
        publisherId: view.getInt32(positionOf(0) + 4),
        day: view.getInt32(positionOf(1) + 4) + epochDays,
        isTest: view.getInt8(positionOf(2) + 4) === 1,
        rows,
        size: end - at,
      });
      for (let index = 0; index < columns.length; index++) {
        const position = positionOf(prefix + index);
        (columns[index] as Column).add(chunk, position + 4, view.getInt32(position), rows);
      }
      at = end;
    }
    rest = Buffer.from(buffer, byteOffset + at, length - at);
    await afterChunk();
  }
}

/** Finds the fields of the row at a position. Returns false if the row is incomplete, or at the end of the copy. */
function findFields(view: DataView, start: number, positions: Int32Array): boolean {
  const { byteLength } = view;
  // A row starts with its number of fields, which is negative at the end of the copy.
  if (start + 2 > byteLength || view.getInt16(start) < 0) return false;
  let at = start + 2;
  for (let field = 0; field < positions.length - 1; field++) {
    if (at + 4 > byteLength) return false;
    positions[field] = at;
    at += 4 + Math.max(0, view.getInt32(at));
  }
  positions[positions.length - 1] = at;
  return at <= byteLength;
}
