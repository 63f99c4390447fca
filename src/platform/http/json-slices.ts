import { AppError } from '../errors.ts';
import { byteOrderMark } from '../lib/csv.ts';
import { parseExactJson } from '../lib/exact-json.ts';
import { createPacer, runInSlices } from '../lib/slices.ts';
import { type Problem, problem } from '../problem.ts';

/** Limits for a request body that is parsed in slices. */
export type SliceLimits = {
  /** Maximum number of rows in the body, added up over all its lists. */
  rows: number;
  /** Returns the maximum size of a member with the given name, in bytes. For a list, the limit applies to each row. */
  rowBytes: (name: string) => number;
  /** Advice on alternatives for callers whose body is too large. */
  otherwise: Problem;
};

/** Maximum number of top-level members, maximum number of values and members per row, and maximum nesting depth. */
const maxTopMembers = 100;
const maxValues = 50_000;
const maxMembers = 5_000;
const maxDepth = 64;

/** Number of bytes scanned per event loop turn, which takes about a millisecond. */
const sliceBytes = 256 * 1024;

type Span = { start: number; end: number };
/**
 * Top-level member of the body. `value` is the byte range of the member's value or, for a list, the byte ranges of its
 * rows.
 */
type Member = { name: string; value: Span | Span[] };

/**
 * Parses a JSON object or a list of rows, like `JSON.parse`, but one row at a time so that other requests are not
 * delayed.
 * @throws AppError malformed_json; body_too_large if the body exceeds the limits
 */
export async function readJsonInSlices(body: Buffer, limits: SliceLimits): Promise<unknown> {
  const bytes = withoutMark(body);
  const split = await runInSlices(splitBody(bytes, limits));
  const pace = createPacer();
  const readRows = async (spans: readonly Span[]): Promise<unknown[]> => {
    const rows: unknown[] = [];
    for (const span of spans) {
      rows.push(parse(bytes, span));
      await pace();
    }
    return rows;
  };
  if ('rows' in split) return readRows(split.rows);
  const read: Record<string, unknown> = {};
  for (const { name, value } of split.members) {
    if (name === '__proto__' || Object.hasOwn(read, name)) throw malformed();
    read[name] = Array.isArray(value) ? await readRows(value) : parse(bytes, value);
    await pace();
  }
  return read;
}

/**
 * Returns the bytes of the first row of a list, which is either the body itself or its member `name`. Returns null if
 * there is no such row.
 * @throws AppError like `readJsonInSlices`
 */
export async function findFirstRow(body: Buffer, name: string, limits: SliceLimits): Promise<Buffer | null> {
  const bytes = withoutMark(body);
  const split = await runInSlices(splitBody(bytes, limits));
  const rows = 'rows' in split ? split.rows : split.members.find((member) => member.name === name)?.value;
  const first = Array.isArray(rows) ? rows[0] : undefined;
  return first === undefined ? null : bytes.subarray(first.start, first.end);
}

const withoutMark = (body: Buffer): Buffer =>
  body.subarray(body.subarray(0, 3).equals(markBytes) ? markBytes.length : 0);

/** Skip a byte order mark, which Windows editors and shells write before UTF-8 text. */
const markBytes = Buffer.from(byteOrderMark);

const malformed = (message?: Problem): AppError =>
  new AppError('malformed_json', message === undefined ? {} : { message });

type SliceLimit = 'callRows' | 'rowBytes' | 'rowValues' | 'rowMembers';

const tooLarge = (key: SliceLimit, max: number, { otherwise }: SliceLimits): AppError =>
  new AppError('body_too_large', { message: problem(key, { max, advice: otherwise }) });

function parse(bytes: Buffer, { start, end }: Span): unknown {
  try {
    return parseExactJson(bytes.toString('utf8', start, end), (text) => JSON.parse(text, refuseProto));
  } catch (err) {
    if (err instanceof AppError) throw err;
    throw malformed();
  }
}

function refuseProto(this: unknown, name: string, value: unknown): unknown {
  if (name === '__proto__') throw malformed();
  return value;
}

const [quote, backslash, comma, colon, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\,:{}[]'].map(
  (character) => character.charCodeAt(0),
) as [number, number, number, number, number, number, number, number];

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9;

/** Locates the members of a body and the rows of its lists, without parsing their content. */
function* splitBody(bytes: Buffer, limits: SliceLimits): Generator<void, { rows: Span[] } | { members: Member[] }> {
  const start = yield* skipSpace(bytes, 0);
  if (bytes[start] === openBracket) {
    const { spans, end } = yield* splitList(bytes, start, { limits, name: '', earlierRows: 0 });
    if ((yield* skipSpace(bytes, end)) !== bytes.length) throw malformed();
    return { rows: spans };
  }
  if (bytes[start] !== openBrace) throw malformed(problem('bodyNoObject'));
  const members: Member[] = [];
  let rows = 0;
  let at = yield* skipSpace(bytes, start + 1);
  while (bytes[at] !== closeBrace) {
    if (bytes[at] !== quote) throw malformed();
    const nameEnd = yield* endOfValue(bytes, at, { limits, name: '' });
    const name = parse(bytes, { start: at, end: nameEnd }) as string;
    at = yield* skipSpace(bytes, nameEnd);
    if (bytes[at] !== colon) throw malformed();
    const valueAt = yield* skipSpace(bytes, at + 1);
    if (bytes[valueAt] === openBracket) {
      const list = yield* splitList(bytes, valueAt, { limits, name, earlierRows: rows });
      rows += list.spans.length;
      members.push({ name, value: list.spans });
      at = list.end;
    } else {
      at = yield* endOfValue(bytes, valueAt, { limits, name });
      members.push({ name, value: { start: valueAt, end: at } });
    }
    if (members.length > maxTopMembers) throw malformed(problem('bodyMembers', { max: maxTopMembers }));
    at = yield* nextOf(bytes, at, closeBrace);
  }
  if ((yield* skipSpace(bytes, at + 1)) !== bytes.length) throw malformed();
  return { members };
}

/** Name of the member being scanned, and the limits. */
type Place = { limits: SliceLimits; name: string };

function* splitList(
  bytes: Buffer,
  start: number,
  { earlierRows, ...place }: Place & { earlierRows: number },
): Generator<void, { spans: Span[]; end: number }> {
  const spans: Span[] = [];
  let at = yield* skipSpace(bytes, start + 1);
  while (bytes[at] !== closeBracket) {
    const end = yield* endOfValue(bytes, at, place);
    const { limits } = place;
    if (earlierRows + spans.length === limits.rows) throw tooLarge('callRows', limits.rows, limits);
    spans.push({ start: at, end });
    if (spans.length % 1000 === 0) yield;
    at = yield* nextOf(bytes, end, closeBracket);
  }
  return { spans, end: at + 1 };
}

/** Skips the comma after a value. If the list or object ends instead, returns the index of its closing bracket. */
function* nextOf(bytes: Buffer, end: number, close: number): Generator<void, number> {
  const at = yield* skipSpace(bytes, end);
  if (bytes[at] === close) return at;
  if (bytes[at] !== comma) throw malformed();
  const next = yield* skipSpace(bytes, at + 1);
  if (bytes[next] === close) throw malformed();
  return next;
}

function* skipSpace(bytes: Buffer, start: number): Generator<void, number> {
  let at = start;
  while (isSpace(bytes[at])) {
    at += 1;
    if ((at - start) % sliceBytes === 0) yield;
  }
  return at;
}

/**
 * Returns the index after a value. For invalid JSON, the index is arbitrary. This is harmless, because parsing rejects
 * the value later.
 */
function* endOfValue(bytes: Buffer, start: number, { limits, name }: Place): Generator<void, number> {
  const most = limits.rowBytes(name);
  const tooLong = (): AppError => tooLarge('rowBytes', most, limits);
  let depth = 0;
  let values = 0;
  let members = 0;
  let seenAt = start;
  for (let at = start; at < bytes.length; at++) {
    if (at - start > most) throw tooLong();
    const byte = bytes[at] as number;
    if (byte === quote) {
      at = yield* endOfString(bytes, at);
      if (at - start > most) throw tooLong();
      if (depth === 0) return at + 1;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) throw malformed(problem('bodyDeep', { max: maxDepth }));
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (byte === comma) {
      if (depth === 0) return at;
      values += 1;
    } else if (byte === colon) members += 1;
    else if (depth === 0 && isSpace(byte)) return at;
    if (values > maxValues) throw tooLarge('rowValues', maxValues, limits);
    if (members > maxMembers) throw tooLarge('rowMembers', maxMembers, limits);
    if (at - seenAt >= sliceBytes) {
      seenAt = at;
      yield;
    }
  }
  throw malformed();
}

/** Returns the index of the closing quote of the string that starts at `start`. */
function* endOfString(bytes: Buffer, start: number): Generator<void, number> {
  let seenAt = start;
  for (let end = bytes.indexOf(quote, start + 1); end !== -1; end = bytes.indexOf(quote, end + 1)) {
    let first = end;
    while (bytes[first - 1] === backslash) first -= 1;
    if ((end - first) % 2 === 0) return end;
    if (end - seenAt >= sliceBytes) {
      seenAt = end;
      yield;
    }
  }
  throw malformed();
}
