import type { Values } from '../../../management/resource.ts';
import { AppError } from '../../../platform/errors.ts';
import { createPacer, runInSlices } from '../../../platform/lib/slices.ts';

/** Rows of a file that a call takes, and its members (count). Beyond this the command is the way. */
const maxRows = 50_000;
const maxMembers = 100;
/** A row, and one with a picture (bytes); the values of a row, however short (count); their nesting (count). */
const maxRowBytes = 1024 * 1024;
const maxPictureRowBytes = 8 * 1024 * 1024;
const maxValues = 50_000;
const maxDepth = 64;

/** Bytes that are looked at in one turn (count): about a millisecond. */
const sliceBytes = 256 * 1024;

type Span = { start: number; end: number };
/** A member of the file: its value, or the rows of its list. */
type Member = { name: string; value: Span | Span[] };

/**
 * Reads a catalogue file as `JSON.parse` does, but in slices: a row a time, so that other requests do not wait.
 * @throws AppError malformed_json; body_too_large where the file has more than a call takes
 */
export async function readCatalogueFile(bytes: Buffer): Promise<unknown> {
  const members = await runInSlices(splitFile(bytes));
  const pace = createPacer();
  const file: Values = {};
  const add = (name: string, value: unknown): void => {
    if (name === '__proto__' || Object.hasOwn(file, name)) throw malformed();
    file[name] = value;
  };
  for (const { name, value } of members) {
    if (!Array.isArray(value)) {
      add(name, parse(bytes, value));
      continue;
    }
    const rows: unknown[] = [];
    for (const span of value) {
      rows.push(parse(bytes, span));
      await pace();
    }
    add(name, rows);
  }
  return file;
}

const malformed = (message?: string): AppError =>
  new AppError('malformed_json', message === undefined ? {} : { message });

const tooLarge = (what: string): AppError =>
  new AppError('body_too_large', { message: `${what}; use the command \`catalogue import\`.` });

function parse(bytes: Buffer, { start, end }: Span): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end), refuseProto);
  } catch (err) {
    if (err instanceof AppError) throw err;
    throw malformed();
  }
}

function refuseProto(this: unknown, name: string, value: unknown): unknown {
  if (name === '__proto__') throw malformed();
  return value;
}

const [quote, backslash, comma, colon, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\,:{}[]'].map((one) =>
  one.charCodeAt(0),
) as [number, number, number, number, number, number, number, number];

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9;

/** Finds the members of a file and the rows of its lists, without reading what they hold. */
function* splitFile(bytes: Buffer): Generator<void, Member[]> {
  const members: Member[] = [];
  let rows = 0;
  let at = yield* skipSpace(bytes, 0);
  if (bytes[at] !== openBrace) throw malformed('The body must be an object.');
  for (at = yield* skipSpace(bytes, at + 1); bytes[at] !== closeBrace; ) {
    if (bytes[at] !== quote) throw malformed();
    const nameEnd = yield* endOfValue(bytes, at, maxRowBytes);
    const name = parse(bytes, { start: at, end: nameEnd }) as string;
    at = yield* skipSpace(bytes, nameEnd);
    if (bytes[at] !== colon) throw malformed();
    const start = yield* skipSpace(bytes, at + 1);
    const most = name === 'creatives' ? maxPictureRowBytes : maxRowBytes;
    if (bytes[start] === openBracket) {
      const list = yield* splitList(bytes, start, { most, mostRows: maxRows - rows });
      rows += list.spans.length;
      members.push({ name, value: list.spans });
      at = list.end;
    } else {
      at = yield* endOfValue(bytes, start, most);
      members.push({ name, value: { start, end: at } });
    }
    if (members.length > maxMembers) throw malformed(`A file has at most ${maxMembers} members.`);
    at = yield* nextOf(bytes, at, closeBrace);
  }
  if ((yield* skipSpace(bytes, at + 1)) !== bytes.length) throw malformed();
  return members;
}

type Limits = { most: number; mostRows: number };

function* splitList(
  bytes: Buffer,
  start: number,
  { most, mostRows }: Limits,
): Generator<void, { spans: Span[]; end: number }> {
  const spans: Span[] = [];
  let at = yield* skipSpace(bytes, start + 1);
  while (bytes[at] !== closeBracket) {
    const end = yield* endOfValue(bytes, at, most);
    if (spans.length === mostRows) throw tooLarge(`A call takes at most ${maxRows} rows`);
    spans.push({ start: at, end });
    if (spans.length % 1000 === 0) yield;
    at = yield* nextOf(bytes, end, closeBracket);
  }
  return { spans, end: at + 1 };
}

/** Past the comma after a value; a list or object that ends there gives the place of its end. */
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

/** The place after a value. What is no JSON may end anywhere: it is refused when it is read. */
function* endOfValue(bytes: Buffer, start: number, most: number): Generator<void, number> {
  let depth = 0;
  let values = 0;
  let seenAt = start;
  for (let at = start; at < bytes.length; at++) {
    if (at - start > most) throw tooLarge(`A row may have at most ${most} bytes`);
    const byte = bytes[at] as number;
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (depth === 0) return at + 1;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth > maxDepth) throw malformed(`The body is nested deeper than ${maxDepth}.`);
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (byte === comma) {
      if (depth === 0) return at;
      values += 1;
      if (values > maxValues) throw tooLarge(`A row may have at most ${maxValues} values`);
    } else if (depth === 0 && isSpace(byte)) return at;
    if (at - seenAt >= sliceBytes) {
      seenAt = at;
      yield;
    }
  }
  throw malformed();
}

/** The index of the quote that ends the string that begins at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end !== -1; end = bytes.indexOf(quote, end + 1)) {
    let first = end;
    while (bytes[first - 1] === backslash) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  throw malformed();
}
