import { type Problem, problem } from '../problem.ts';
import { decodeFile, type FileSource } from './decode.ts';
import { detectLayout, type Layout, type LayoutOptions } from './layout.ts';
import type { FileFormat } from './names.ts';
import { type FileRecord, parseRecords, separators } from './parse.ts';

/** Number of bytes at the start of a file from which its layout is detected. */
const headBytes = 32 * 1024;

/** File row. If the row is invalid, `problem` says why. `cells` are in the order of the layout's columns. */
export type FileRow = { line: number; lines: number; cells: readonly string[]; problem: Problem | null };

export type DelimitedFile = {
  layout: Layout;
  /** Data rows in batches, some of which may be empty. The generator can be consumed only once. */
  batches: AsyncGenerator<FileRow[], void>;
};

/**
 * Opens a delimited file. Detects its encoding, separator, header and columns, and streams its rows with bounded
 * memory. Pauses between chunks so that requests are not delayed.
 * @throws AppError ambiguous_header, unknown_header, invalid_request; `batches` throws invalid_request for broken
 * quotes
 */
export async function openDelimitedFile<Role extends string>(
  source: FileSource,
  format: FileFormat<Role>,
  options: LayoutOptions = { header: null, column: null },
): Promise<DelimitedFile> {
  const slices = decodeFile(source);
  const head: Buffer[] = [];
  let length = 0;
  let isWhole = true;
  for (let next = await slices.next(); next.done !== true; next = await slices.next()) {
    head.push(next.value);
    length += next.value.length;
    if (length < headBytes) continue;
    isWhole = false;
    break;
  }
  const bytes = Buffer.concat(head);
  const layout = detectLayout(wholeLines(bytes.toString(), isWhole), format, options);
  async function* rest(): AsyncGenerator<Buffer, void> {
    yield bytes.subarray(layout.skippedBytes);
    if (!isWhole) yield* slices;
  }
  const isStrict = format.required !== undefined;
  const parsing = { separator: layout.separator === null ? separators : [layout.separator], isStrict };
  const records = parseRecords(rest(), parsing, layout.firstLine);
  return { layout, batches: readRows(records, layout, isStrict) };
}

/** Returns the text up to its last line break, or all of it if it has only one line. */
function wholeLines(text: string, isWhole: boolean): string {
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'));
  return isWhole || end < 0 ? text : text.slice(0, end);
}

async function* readRows(
  batches: AsyncIterable<FileRecord[]>,
  { hasHeader, columns }: Layout,
  isStrict: boolean,
): AsyncGenerator<FileRow[], void> {
  let header: readonly string[] | null = null;
  for await (const batch of batches) {
    const rows: FileRow[] = [];
    for (const record of batch) {
      if (hasHeader && header === null) header = record.cells.map((cell) => cell.trim());
      else rows.push({ ...record, problem: problemOf(record, { columns: columns.length, header, isStrict }) });
    }
    yield rows;
  }
}

type Expected = { columns: number; header: readonly string[] | null; isStrict: boolean };

const isHeader = (cells: readonly string[], header: readonly string[]): boolean =>
  cells.length === header.length && cells.every((cell, index) => cell.trim() === header[index]);

function problemOf({ line, lines, cells }: FileRecord, { columns, header, isStrict }: Expected): Problem | null {
  if (cells.length > columns) return problem('rowFields', { fields: cells.length, columns });
  if (header !== null && isHeader(cells, header)) return problem('rowHeader');
  if (!isStrict && lines > 1 && cells.some((cell) => cell.startsWith('"') && /[\r\n]/.test(cell)))
    return problem('rowQuote', { line: line + lines - 1 });
  return null;
}
