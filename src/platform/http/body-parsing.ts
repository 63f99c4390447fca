import type { IncomingHttpHeaders } from 'node:http';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { parseExactJson } from '../lib/exact-json.ts';

/** Bodies may hold this much after decompression (bytes); more is answered 413. */
export const maxBodyBytes = 64 * 1024;

/**
 * Nesting of a body (count): far beyond what any call asks for, and far below what a recursive walk over it can bear.
 */
const maxDepth = 64;

/**
 * Values and members of a body (count), far beyond what any call asks for: made-up names cost 2 µs each to read, and
 * other requests wait meanwhile.
 */
const maxValues = 50_000;
const maxMembers = 10_000;
/** A single text of a body (characters): patterns are tried on whole ones. */
const maxTextLength = 1_000_000;

/** A preValidation hook for calls that may come without a body: none is judged like an empty one. */
export function emptyBodyByDefault(request: { body: unknown }, _reply: unknown, done: () => void): void {
  request.body ??= {};
  done();
}

/** Accepts JSON bodies, plain or compressed; an empty body counts as none, for calls that need no body. */
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

/** The same for the scope without hooks: in one piece, and a compressed one only then taken apart. */
export function registerHotBodyParsing(app: FastifyInstance): void {
  const readJson = createJsonReader(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, ({ headers }, body, done) => {
    const decompress = decompressors.get(headers['content-encoding'] ?? 'identity');
    if (decompress === null) return readJson((body as Buffer).toString(), done);
    if (decompress === undefined) return done(null, undefined); // refused by `requireKnownEncoding`
    decompress(body as Buffer, { maxOutputLength: maxBodyBytes }, (err, text) => {
      if (err === null) readJson(text.toString(), done);
      else
        done(
          new AppError('code' in err && err.code === 'ERR_BUFFER_TOO_LARGE' ? 'body_too_large' : 'malformed_request'),
        );
    });
  });
}

/** By the header Content-Encoding; null: none is needed. */
const decompressors = new Map<string, typeof gunzip | null>([
  ['identity', null],
  ['gzip', gunzip],
  ['deflate', inflate],
  ['br', brotliDecompress as typeof gunzip],
]);

/** @throws AppError unsupported_media_type */
export function requireKnownEncoding({ 'content-encoding': encoding }: IncomingHttpHeaders): void {
  if (encoding !== undefined && !decompressors.has(encoding)) throw new AppError('unsupported_media_type');
}

/** Gives what a JSON body says, undefined for an empty one, or why it cannot be read. */
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

/** Why a JSON text is not read, however right it may be. What is no JSON may get any answer. */
function refusalOf(text: string): AppError | null {
  if (text.length <= 2 * maxDepth) return null;
  let depth = 0;
  let values = 0;
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      const end = endOfString(text, at);
      if (end - at > maxTextLength) return tooMany(maxTextLength, 'characters in a text');
      at = end;
    } else if (character === openBrace || character === openBracket) {
      depth += 1;
      values += 1;
      if (depth > maxDepth)
        return new AppError('malformed_json', { message: `The body is nested deeper than ${maxDepth}.` });
    } else if (character === closeBrace || character === closeBracket) depth -= 1;
    else if (character === comma) values += 1;
    else if (character === colon) members += 1;
    if (values > maxValues) return tooMany(maxValues, 'values');
    if (members > maxMembers) return tooMany(maxMembers, 'members');
  }
  return null;
}

const tooMany = (most: number, what: string): AppError =>
  new AppError('body_too_large', { message: `A body may have at most ${most} ${what}.` });

const [quote, comma, colon, openBrace, closeBrace, openBracket, closeBracket] = [...'",:{}[]'].map((one) =>
  one.charCodeAt(0),
);

/** The index of the quote that ends the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
  } while (isEscaped(text, end));
  return end;
}

/** Whether an odd number of backslashes stands before. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/**
 * Trimmed text with lone surrogates replaced, which PostgreSQL refuses; null where nothing is left. Numbers, which some
 * clients send for ids, become text.
 */
export function textOrNull(value: string | number | undefined): string | null {
  const clean = value === undefined ? '' : String(value).toWellFormed().trim();
  return clean === '' ? null : clean;
}
