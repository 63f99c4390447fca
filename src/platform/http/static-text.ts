import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namesEtag } from './etag.ts';

/** Static text file whose name contains a hash of its content. */
export type StaticText = {
  /** First 12 hex digits of the SHA-256 hash of the content. */
  hash: string;
  /** Returns the body in the given content encoding. It is compressed on first use. */
  bodyIn: (encoding: Encoding) => Promise<Buffer>;
};

export type Encoding = 'br' | 'gzip' | 'identity';

/** Cache-Control value for URLs that contain a content hash. */
export const immutable = 'public, max-age=31536000, immutable';

/**
 * Loads a text file. `edit` transforms the text before it is served.
 * @returns null if the file does not exist
 */
export async function loadStaticText(
  file: URL | string,
  edit: (text: string) => string = (text) => text,
): Promise<StaticText | null> {
  const text = await readFile(file, 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return null;
    throw err;
  });
  return text === null ? null : createStaticText(edit(text));
}

export function createStaticText(text: string): StaticText {
  const content = Buffer.from(text);
  const pack: Record<Encoding, () => Promise<Buffer>> = {
    br: () => promisify(brotliCompress)(content),
    gzip: () => promisify(gzip)(content, { level: 9 }),
    identity: async () => content,
  };
  const bodies = new Map<Encoding, Promise<Buffer>>();
  return {
    hash: createHash('sha256').update(content).digest('hex').slice(0, 12),
    bodyIn: (encoding) => {
      const body = bodies.get(encoding) ?? pack[encoding]();
      bodies.set(encoding, body);
      return body;
    },
  };
}

/**
 * Sends a file in the best encoding that the client accepts, or 304 if the client has a current copy. `type` is a text
 * media type without a charset.
 */
export async function sendStaticText(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticText,
  { type, caching }: { type: string; caching: string },
): Promise<FastifyReply> {
  const encoding = encodingFor(request.headers['accept-encoding']);
  const etag = `"${file.hash}-${encoding}"`;
  reply.headers({ etag, 'cache-control': caching, 'x-content-type-options': 'nosniff', vary: 'accept-encoding' });
  if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.type(`${type}; charset=utf-8`).send(await file.bodyIn(encoding));
}

/** Returns the best encoding that a client accepts. Encodings with `q=0` are excluded. */
export function encodingFor(acceptEncoding: string | undefined): Encoding {
  const accepted = (acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.trim());
  const takes = (name: string): boolean =>
    accepted.some((part) => part.split(';')[0]?.trim() === name && !/;\s*q=0(\.0*)?$/.test(part));
  return takes('br') ? 'br' : takes('gzip') ? 'gzip' : 'identity';
}
