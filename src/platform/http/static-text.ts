import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namesEtag } from './etag.ts';

/** A text file as it is sent: packed once, named by its content. */
export type StaticText = {
  /** 12 hex digits of the content's SHA-256. */
  hash: string;
  bodies: Record<Encoding, Buffer>;
};

export type Encoding = 'br' | 'gzip' | 'identity';

/** For addresses that hold the content's hash. */
export const immutable = 'public, max-age=31536000, immutable';

/** `edit`: what is sent instead of the file's text. @returns null when there is no such file */
export async function loadStaticText(
  file: URL | string,
  edit: (text: string) => string = (text) => text,
): Promise<StaticText | null> {
  const text = await readFile(file, 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return null;
    throw err;
  });
  return text === null ? null : packStaticText(edit(text));
}

export async function packStaticText(text: string): Promise<StaticText> {
  const identity = Buffer.from(text);
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(identity),
    promisify(gzip)(identity, { level: 9 }),
  ]);
  return {
    hash: createHash('sha256').update(identity).digest('hex').slice(0, 12),
    bodies: { br, gzip: gzipped, identity },
  };
}

/** Sends it in the best encoding the client takes, or 304 when it has it. `type`: a text type, without charset. */
export function sendStaticText(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticText,
  { type, caching }: { type: string; caching: string },
): FastifyReply {
  const encoding = encodingFor(request.headers['accept-encoding']);
  const etag = `"${file.hash}-${encoding}"`;
  reply.headers({ etag, 'cache-control': caching, 'x-content-type-options': 'nosniff', vary: 'accept-encoding' });
  if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.type(`${type}; charset=utf-8`).send(file.bodies[encoding]);
}

/** The best encoding a client accepts; one refused by `q=0` is not used. */
export function encodingFor(acceptEncoding: string | undefined): Encoding {
  const accepted = (acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.trim());
  const takes = (name: string): boolean =>
    accepted.some((part) => part.split(';')[0]?.trim() === name && !/;\s*q=0(\.0*)?$/.test(part));
  return takes('br') ? 'br' : takes('gzip') ? 'gzip' : 'identity';
}
