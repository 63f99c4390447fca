import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

/** Bodies may hold this much after decompression (bytes); more is answered 413. */
export const maxBodyBytes = 64 * 1024;

/** A preValidation hook for calls that may come without a body: none is judged like an empty one. */
export function emptyBodyForNone(request: { body: unknown }, _reply: unknown, done: () => void): void {
  request.body ??= {};
  done();
}

/** Accepts JSON bodies, plain or compressed; an empty body counts as none, for calls that need no body. */
export async function registerBodyParsing(app: FastifyInstance): Promise<void> {
  await app.register(compress, { global: false, globalDecompression: true, requestEncodings: ['gzip', 'deflate', 'br'] });
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else parseJson(request, body as string, done);
  });
}
