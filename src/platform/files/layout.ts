import { AppError } from '../errors.ts';
import { type Problem, problem } from '../problem.ts';
import { describeKind } from './kinds.ts';
import { comparableName, createRoleFinder, type FileFormat } from './names.ts';
import { type FileRecord, parseSample, type Separator, separators } from './parse.ts';

/**
 * File layout as specified by the caller. A null `header` or `column` is detected automatically. `column` is the name
 * or number of the identifier column.
 */
export type LayoutOptions = { header: 'present' | 'absent' | null; column: string | null };

/**
 * Column with its role in the import. Columns with a null role are ignored. `name` is null if the file has no header.
 */
type FileColumn = { name: string | null; role: string | null };

export type Layout = {
  /** Separator character, or null if the file has only one column. */
  separator: Separator | null;
  hasHeader: boolean;
  columns: readonly FileColumn[];
  /** Line number of the first record, and byte offset at which it starts. An initial `sep=` line is skipped. */
  firstLine: number;
  skippedBytes: number;
  /** Whether another separator would be equally plausible. */
  isSeparatorUnsure: boolean;
};

/** Number of records sampled for detection, and maximum number of columns. */
const sampleRecords = 100;
const maxColumns = 1000;

/** A separator is accepted only if it splits at least this share of the sampled records into several fields. */
const minShare = 0.5;

/** Optional first line that tells spreadsheet programs which separator the file uses. */
const separatorLine = /^"?sep=(.)"?[,;\t]*(?:\r\n|\n|\r|$)/i;

type Sample = { separator: Separator | null; records: FileRecord[]; isUnsure: boolean };

/**
 * Detects the separator, header and columns of a file from its first lines.
 * @param head complete lines from the start of the file
 * @throws AppError ambiguous_header, unknown_header; invalid_request for an unsupported separator or too many columns
 */
export function detectLayout<Role extends string>(
  head: string,
  format: FileFormat<Role>,
  options: LayoutOptions,
): Layout {
  const [line = '', mark] = separatorLine.exec(head) ?? [];
  const declared = separators.find((separator) => separator === mark) ?? null;
  if (mark !== undefined && declared === null) throw unsupportedSeparator(mark);
  const text = head.slice(line.length);
  const roleOf = createRoleFinder(format);
  const isStrict = format.required !== undefined;
  const sample = chooseSample(text, { declared, roleOf, isStrict, mayHaveHeader: options.header !== 'absent' });
  const [first] = sample.records;
  const places = {
    separator: sample.separator,
    firstLine: line === '' ? 1 : 2,
    skippedBytes: Buffer.byteLength(line),
    isSeparatorUnsure: sample.isUnsure,
  };
  if (first === undefined && format.required === undefined) return { ...places, hasHeader: false, columns: [] };
  const columns =
    format.required === undefined
      ? listColumns(sample.records, format.identifiers, { roleOf, patterns: patternsOf(format), options })
      : { hasHeader: true, columns: requireColumns(first?.cells ?? [], format.required, roleOf) };
  return { ...places, ...columns };
}

const patternsOf = ({
  patterns = {},
}: {
  patterns?: Readonly<Record<string, RegExp | undefined>>;
}): [string, RegExp][] =>
  Object.entries(patterns).flatMap(([role, pattern]) => (pattern === undefined ? [] : [[role, pattern]]));

type RoleFinder = (name: string) => string | null;

type Choice = { declared: Separator | null; roleOf: RoleFinder; isStrict: boolean; mayHaveHeader: boolean };

function chooseSample(text: string, { declared, roleOf, isStrict, mayHaveHeader }: Choice): Sample {
  const candidates = (declared === null ? separators : [declared]).map((separator) => {
    const records = parseSample(text, { separator: [separator], isStrict }, sampleRecords);
    const cells = records[0]?.cells ?? [];
    if (cells.length > maxColumns)
      throw new AppError('invalid_request', { message: problem('maxColumns', { max: maxColumns }) });
    const names = mayHaveHeader ? cells.filter((cell) => roleOf(cell) !== null).length : 0;
    const isSplit = cells.length > 1;
    const share = records.filter((record) => record.cells.length > 1).length / Math.max(1, records.length);
    return { separator, records, names, isSplit, share };
  });
  const [any] = candidates;
  if (declared !== null && any !== undefined) return { separator: declared, records: any.records, isUnsure: false };
  const byNames = candidates.filter(({ names, isSplit }) => isSplit && names > 0).sort((a, b) => b.names - a.names);
  // Countries that write decimals with a comma (12,50) use semicolons as separators, so try the comma last.
  const byShare = candidates.filter(({ isSplit, share }) => isSplit && share >= minShare).reverse();
  byShare.sort((a, b) => b.share - a.share);
  const isOneName = candidates.some(({ names, isSplit }) => names > 0 && !isSplit);
  const [best, second] = byNames.length > 0 || isOneName ? byNames : byShare;
  if (best !== undefined) {
    const { separator, records } = best;
    return { separator, records, isUnsure: second?.names === best.names && second.share === best.share };
  }
  const [first = ''] = /^[^\r\n]*/.exec(text) ?? [];
  const other = ['|', '~', '^'].find((mark) => first.includes(mark) && first.split(mark).some((cell) => roleOf(cell)));
  if (other !== undefined) throw unsupportedSeparator(other);
  const records = parseSample(text, { separator: separators, isStrict }, sampleRecords);
  return { separator: null, records, isUnsure: false };
}

type Columns = { hasHeader: boolean; columns: readonly FileColumn[] };

type Listing = { roleOf: RoleFinder; patterns: readonly [string, RegExp][]; options: LayoutOptions };

/** Returns the columns of an identifier list, which may have no header. */
function listColumns(
  records: readonly FileRecord[],
  identifiers: readonly string[],
  { roleOf, patterns, options }: Listing,
): Columns {
  const first = records[0]?.cells ?? [];
  const names = first.map((cell) => cell.trim());
  const roles = names.map((name) => (options.header === 'absent' ? null : roleOf(name)));
  const isIdentifier = (role: string | null): boolean => role !== null && identifiers.includes(role);
  const selected = options.column === null ? null : columnAt(options.column, { first: names, roleOf, options });
  const candidates = roles.flatMap((role, at) => (isIdentifier(role) ? [at] : []));
  if (selected === null && candidates.length > 1)
    throw ambiguous(records, problem('severalColumns', { names: candidates.map((at) => names[at]).join(', ') }));
  const at = selected?.at ?? candidates[0] ?? (names.length === 1 ? 0 : null);
  if (at === null) throw unknownHeader(records);
  const isNamed = roles.some((role) => role !== null) || selected?.isName === true;
  const hasHeader = options.header === null ? isNamed || isHeaderByKind(records, at) : options.header === 'present';
  const nameOf = (index: number): string | null => (hasHeader ? (names[index] ?? '') : null);
  const own = hasHeader && isIdentifier(roles[at] ?? null) ? (roles[at] as string) : null;
  const role = own ?? selected?.role ?? (identifiers[0] as string);
  if (own === null && selected?.role == null) refuseOtherKind(records, at, { hasHeader, role, patterns });
  const columns = names.map((_, index): FileColumn => {
    if (index === at) return { name: nameOf(index), role };
    const other = hasHeader ? (roles[index] ?? null) : null;
    return { name: nameOf(index), role: isIdentifier(other) ? null : other };
  });
  refuseTwice(columns, records);
  return { hasHeader, columns };
}

type Chosen = { at: number; isName: boolean; role: string | null };

/** Finds the column that the caller specified. */
function columnAt(
  column: string,
  { first, roleOf, options }: { first: readonly string[]; roleOf: RoleFinder; options: LayoutOptions },
): Chosen {
  const refuse = (message: Problem): AppError =>
    new AppError('invalid_request', { details: [{ path: '/querystring/column', message }] });
  if (/^[1-9]\d{0,3}$/.test(column)) {
    if (Number(column) > first.length) throw refuse(problem('columnCount', { count: first.length }));
    return { at: Number(column) - 1, isName: false, role: null };
  }
  const wantedName = comparableName(column);
  const matches = first.flatMap((name, at) => (comparableName(name) === wantedName && wantedName !== '' ? [at] : []));
  if (matches.length > 1) throw refuse(problem('columnNameTwice'));
  const [at] = matches;
  if (at !== undefined && options.header !== 'absent') return { at, isName: true, role: null };
  const role = roleOf(column);
  // In a list without a header, the column name given by the caller determines the role of the values.
  if (first.length === 1 && role !== null) return { at: 0, isName: false, role };
  throw refuse(problem('noColumn'));
}

/**
 * Whether the first value in a column is a header, which is decided by comparing it with the other values.
 * @throws AppError ambiguous_header if it looks different from the others but may still be a value
 */
function isHeaderByKind(records: readonly FileRecord[], at: number): boolean {
  const [first = '', ...others] = records.map(({ cells }) => (cells[at] ?? '').trim());
  const difference = describeKind(first, others);
  if (difference === null) return false;
  throw ambiguous(records, problem('fileFirstValue', { problem: difference }));
}

type Kind = { hasHeader: boolean; role: string; patterns: readonly [string, RegExp][] };

/** Rejects a column whose values look as if they have another role, such as hashes in an ID column. */
function refuseOtherKind(records: readonly FileRecord[], at: number, { hasHeader, role, patterns }: Kind): void {
  const values = records.slice(hasHeader ? 1 : 0).map(({ cells }) => (cells[at] ?? '').trim());
  for (const [other, pattern] of patterns) {
    if (values.length === 0 || values.filter((value) => pattern.test(value)).length < 0.9 * values.length) continue;
    throw ambiguous(records, problem('valuesLookLike', { other, role }));
  }
}

function refuseTwice(columns: readonly FileColumn[], records: readonly FileRecord[]): void {
  const roles = columns.flatMap(({ role }) => role ?? []);
  const twice = roles.find((role, at) => roles.indexOf(role) !== at);
  if (twice !== undefined) throw ambiguous(records, problem('roleTwice', { role: twice }));
}

function requireColumns(first: readonly string[], required: readonly string[], roleOf: RoleFinder): FileColumn[] {
  const columns = first.map((cell): FileColumn => ({ name: cell.trim(), role: roleOf(cell) }));
  const missing = required.filter((role) => columns.every((column) => column.role !== role));
  const twice = required.filter((role) => columns.filter((column) => column.role === role).length > 1);
  const details = [
    ...missing.map((role) => ({ path: `/columns/${role}`, message: problem('isRequired') })),
    ...twice.map((role) => ({ path: `/columns/${role}`, message: problem('occursTwice') })),
  ];
  if (details.length > 0) throw new AppError('unknown_header', { message: problem('fileLacksColumns'), details });
  return columns;
}

/** Returns the first file rows, for use in an error message. */
const firstRows = (records: readonly FileRecord[]) =>
  records.slice(0, 5).map(({ line, cells }) => ({
    path: `/lines/${line}`,
    message: problem('verbatim', {
      text: cells
        .slice(0, 20)
        .map((cell) => cell.slice(0, 100))
        .join(' | '),
    }),
  }));

const ambiguous = (records: readonly FileRecord[], message: Problem): AppError =>
  new AppError('ambiguous_header', { message, details: firstRows(records) });

const unknownHeader = (records: readonly FileRecord[]): AppError =>
  new AppError('unknown_header', {
    message: problem('fileNoName'),
    details: firstRows(records),
  });

const unsupportedSeparator = (mark: string): AppError =>
  new AppError('invalid_request', {
    message: problem('otherSeparator', { separator: JSON.stringify(mark) }),
  });
