import type { IncomingHttpHeaders } from 'node:http';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { parseExactJson } from '../lib/exact-json.ts';
import { problem } from '../problem.ts';

/** Maximum request body size after decompression, in bytes. Larger bodies are rejected with 413. */
export const maxBodyBytes = 64 * 1024;

/**
 * Maximum nesting depth of a request body. No valid call comes close, and a recursive walk can go much deeper without a
 * stack overflow.
 */
const maxDepth = 64;

/**
 * Maximum number of values and members in a request body. No valid call comes close. The limit is needed because
 * parsing an unknown member name takes 2 µs, during which other requests are blocked.
 */
const maxValues = 50_000;
const maxMembers = 10_000;
/**
 * Maximum length of a string in a request body, in characters. The limit is needed because validation patterns run on
 * the entire string.
 */
const maxTextLength = 1_000_000;

/** preValidation hook for routes whose body is optional. Treats a missing body as an empty object. */
export function emptyBodyByDefault(request: { body: unknown }, _reply: unknown, done: () => void): void {
  request.body ??= {};
  done();
}

/**
 * Registers parsers for plain and compressed JSON bodies. An empty body counts as missing, because some calls need no
 * body.
 */
export async function registerBodyParsing(app: FastifyInstance): Promise<void> {
  await app.register(compress, {
    global: false,
    globalDecompression: true,
    requestEncodings: ['gzip', 'deflate', 'br', 'identity'],
  });
  const readJson = createJsonReader(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
    readJson(body as string, done),
  );
}

/** Registers body parsing for the scope without hooks. The whole body is read before it is decompressed. */
export function registerHotBodyParsing(app: FastifyInstance): void {
  const readJson = createJsonReader(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, ({ headers }, body, done) => {
    const decompress = decompressors.get(headers['content-encoding'] ?? 'identity');
    if (decompress === null) return readJson((body as Buffer).toString(), done);
    if (decompress === undefined) return done(null, undefined); // rejected by `requireKnownEncoding`
    decompress(body as Buffer, { maxOutputLength: maxBodyBytes }, (err, text) => {
      if (err === null) readJson(text.toString(), done);
      else
        done(
          new AppError('code' in err && err.code === 'ERR_BUFFER_TOO_LARGE' ? 'body_too_large' : 'malformed_request'),
        );
    });
  });
}

/** Decompressors by Content-Encoding, or null for encodings that need no decompression. */
const decompressors = new Map<string, typeof gunzip | null>([
  ['identity', null],
  ['gzip', gunzip],
  ['deflate', inflate],
  ['br', brotliDecompress as typeof gunzip],
]);

/**
 * Rejects unsupported content encodings.
 * @throws AppError unsupported_media_type
 */
export function requireKnownEncoding({ 'content-encoding': encoding }: IncomingHttpHeaders): void {
  if (encoding !== undefined && !decompressors.has(encoding)) throw new AppError('unsupported_media_type');
}

/** Parses a JSON text and calls `done` with the error or the parsed body, which is undefined if the text is empty. */
type JsonReader = (text: string, done: (err: Error | null, body?: unknown) => void) => void;

function createJsonReader(app: FastifyInstance): JsonReader {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  return (text, done) => {
    if (text === '') done(null, undefined);
    else {
      const refusal = refusalOf(text);
      if (refusal !== null) return done(refusal);
      let failure: Error | null = null;
      const body = parseExactJson(text, (json) => {
        let parsed: unknown;
        parseJson(undefined as never, json, (err, value) => {
          failure ??= err;
          parsed = value;
        });
        return parsed;
      });
      done(failure, body);
    }
  };
}

/** Returns the error for a JSON text that exceeds the limits, or null. For invalid JSON, the result has no meaning. */
function refusalOf(text: string): AppError | null {
  if (text.length <= 2 * maxDepth) return null;
  let depth = 0;
  let values = 0;
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      const end = endOfString(text, at);
      if (end - at > maxTextLength) return tooMany('bodyTextLong', maxTextLength);
      at = end;
    } else if (character === openBrace || character === openBracket) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) return new AppError('malformed_json', { message: problem('bodyDeep', { max: maxDepth }) });
    } else if (character === closeBrace || character === closeBracket) depth -= 1;
    else if (character === comma) values += 1;
    else if (character === colon) members += 1;
    if (values > maxValues) return tooMany('bodyValues', maxValues);
    if (members > maxMembers) return tooMany('bodyMembers', maxMembers);
  }
  return null;
}

const tooMany = (key: 'bodyTextLong' | 'bodyValues' | 'bodyMembers', max: number): AppError =>
  new AppError('body_too_large', { message: problem(key, { max }) });

const [quote, comma, colon, openBrace, closeBrace, openBracket, closeBracket] = [...'",:{}[]'].map((character) =>
  character.charCodeAt(0),
);

/** Returns the index of the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
  } while (isEscaped(text, end));
  return end;
}

/** Whether the character at an index is escaped, which means that an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/**
 * Trims a string and replaces lone surrogates, which PostgreSQL rejects. Returns null if nothing is left. Numbers are
 * converted to strings, because some clients send IDs as numbers.
 */
export function textOrNull(value: string | number | undefined): string | null {
  const clean = value === undefined ? '' : String(value).toWellFormed().trim();
  return clean === '' ? null : clean;
}
