import { parse } from 'csv-parse';
import { parse as parseSync } from 'csv-parse/sync';
import { AppError } from '../errors.ts';
import { type Problem, problem } from '../problem.ts';

export type Separator = ',' | ';' | '\t';
export const separators: readonly Separator[] = [',', ';', '\t'];

/** Limits: record size in bytes, fields per record, and blank lines per file. */
const maxRecordBytes = 1024 * 1024;
const maxFields = 2000;
const maxBlankLines = 2_000_000;

/** Record of a file. `line` is the number of its first line, starting at 1; `lines` is the number of lines it spans. */
export type FileRecord = { line: number; lines: number; cells: string[] };

/** Parser options. `isStrict` rejects quotes inside unquoted values and text after quoted values. */
type Parsing = { separator: readonly Separator[]; isStrict: boolean };

const optionsOf = ({ separator, isStrict }: Parsing) => ({
  delimiter: [...separator],
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  relax_quotes: !isStrict,
  trim: isStrict,
});

/**
 * Parses UTF-8 chunks into records, one chunk at a time. Blank records are skipped. Memory usage is bounded by the
 * longest record. Lines before the first quote are split without the CSV parser, which takes a tenth of the time.
 * @param firstLine number of the line at which the first chunk starts
 * @throws AppError invalid_request with the line number of a misplaced or unclosed quote, or of an oversized record
 */
export async function* parseRecords(
  slices: AsyncIterable<Buffer>,
  parsing: Parsing,
  firstLine = 1,
): AsyncGenerator<FileRecord[], void> {
  const parser = parse(optionsOf(parsing));
  parser.on('error', () => {}); // the failing write rejects with the error
  let line = firstLine;
  let blankLines = 0;
  /** Number of bytes read since the end of the last record. */
  let openBytes = 0;
  const addTo = (records: FileRecord[], cells: string[], lines: number): void => {
    openBytes = 0;
    if (cells.length > maxFields) refuseAt(line, problem('rowTooManyFields', { fields: maxFields }));
    if (isBlank(cells)) blankLines += 1;
    else records.push({ line, lines, cells });
    line += lines;
  };
  const take = (plainRows: string[][]): FileRecord[] => {
    const records: FileRecord[] = [];
    for (const cells of plainRows) addTo(records, cells, 1);
    for (let cells = parser.read() as string[] | null; cells !== null; cells = parser.read() as string[] | null)
      addTo(records, cells, linesOf(cells));
    if (blankLines > maxBlankLines) refuseAt(line, problem('blankLines', { max: maxBlankLines }));
    return records;
  };
  const settle = (run: (done: (err?: Error | null) => void) => void): Promise<void> =>
    new Promise((resolve, reject) => run((err) => (err == null ? resolve() : reject(err))));
  const splitter = createPlainSplitter(parsing);
  try {
    for await (const slice of slices) {
      if (slice.length === 0) continue;
      openBytes += slice.length;
      const { rows, rest } = splitter.split(slice);
      if (rest === null) yield take(rows);
      else {
        const written = settle((done) => parser.write(rest, done));
        const records = take([]);
        await written;
        yield [...records, ...take([])];
      }
      if (openBytes > maxRecordBytes) refuseAt(line, problem('rowLong', { max: maxRecordBytes / 1024 }));
    }
    parser.end(splitter.openLine());
    const records: FileRecord[] = [];
    for await (const cells of parser as AsyncIterable<string[]>) addTo(records, cells, linesOf(cells));
    yield records;
  } catch (err) {
    throw misread(err, line);
  } finally {
    parser.destroy();
  }
}

type PlainRows = { rows: string[][]; rest: null } | { rows: null; rest: Buffer };

/**
 * Creates a splitter for lines without quotes. From the first quote on, `split` returns the bytes for the CSV parser as
 * `rest`, starting at the beginning of a line. The same applies to files that are parsed strictly, and to files whose
 * lines end with CR only.
 */
function createPlainSplitter({ separator, isStrict }: Parsing) {
  const [only, ...others] = separator;
  const separatorPattern = others.length === 0 && only !== undefined ? only : new RegExp(`[${separator.join('')}]`);
  let isPlain = !isStrict;
  let openLine: Buffer = Buffer.alloc(0);

  function splitText(text: string): string[][] {
    const lines = text.split(text.includes('\r') ? /\r\n|\n|\r/ : '\n');
    lines.pop(); // the text ends with a line break
    const isSplit =
      typeof separatorPattern === 'string' ? text.includes(separatorPattern) : separatorPattern.test(text);
    return lines.map(isSplit ? (line) => line.split(separatorPattern) : (line) => [line]);
  }

  return {
    split: (slice: Buffer): PlainRows => {
      if (!isPlain) return { rows: null, rest: slice };
      const bytes = openLine.length === 0 ? slice : Buffer.concat([openLine, slice]);
      const end = bytes.lastIndexOf('\n') + 1;
      isPlain = !bytes.includes('"') && (end > 0 || !bytes.includes('\r'));
      openLine = isPlain ? bytes.subarray(end) : Buffer.alloc(0);
      return isPlain ? { rows: splitText(bytes.toString('utf8', 0, end)), rest: null } : { rows: null, rest: bytes };
    },
    /** Returns the bytes after the last line break that were not passed to the CSV parser. */
    openLine: () => openLine,
  };
}

/** Parses the first records of a sample, which may be cut off in the middle of a record. Stops at the first error. */
export function parseSample(text: string, parsing: Parsing, maxRecords: number): FileRecord[] {
  const records: FileRecord[] = [];
  let line = 1;
  const onRecord = (cells: string[]): null => {
    cells.length = Math.min(cells.length, maxFields + 1);
    const lines = linesOf(cells);
    if (!isBlank(cells)) records.push({ line, lines, cells });
    line += lines;
    return null;
  };
  try {
    parseSync(text, { ...optionsOf(parsing), to: maxRecords, on_record: onRecord });
  } catch {
    // Ignore the error, because parsing the whole file later reports it with its position.
  }
  return records;
}

/**
 * Removes blank cells from the end of a record.
 * @returns whether the record has no cells left
 */
function isBlank(cells: string[]): boolean {
  while (cells.length > 0 && (cells.at(-1) as string).trim() === '') cells.pop();
  return cells.length === 0;
}

function linesOf(cells: readonly string[]): number {
  let lines = 1;
  for (const cell of cells)
    if (cell.includes('\n') || cell.includes('\r')) lines += cell.match(/\r\n|\n|\r/g)?.length ?? 0;
  return lines;
}

function refuseAt(line: number, message: Problem): never {
  throw new AppError('invalid_request', { details: [{ path: `/lines/${line}`, message }] });
}

/** Converts a parser error into an error about the file. */
function misread(err: unknown, line: number): unknown {
  const { code = '' } = err as { code?: string };
  if (!/^(CSV_|INVALID_)/.test(code)) return err;
  const message = code === 'CSV_QUOTE_NOT_CLOSED' ? problem('fileQuoteOpen') : problem('fileQuoteInside');
  return new AppError('invalid_request', { details: [{ path: `/lines/${line}`, message }] });
}
