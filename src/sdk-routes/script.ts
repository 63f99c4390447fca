import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

/** A script for browsers as it is sent: packed once, named by its content. */
export type Script = {
  /** 12 hex digits of the content's SHA-256. */
  hash: string;
  /** Where it is served for good. */
  path: string;
  bodies: Record<Encoding, Buffer>;
};

export type Encoding = 'br' | 'gzip' | 'identity';

/** What `npm run build:sdk` makes: the web SDK, and the script of the hosted offerwall. */
export type ScriptName = 'launcher' | 'offerwall';

/** The same place seen from `src` and from `dist`. */
const scriptUrl = (name: ScriptName): URL => new URL(`../../dist/sdk/${name}.js`, import.meta.url);

/** @returns null when it is not built (`npm run build:sdk`) */
export async function loadScript(name: ScriptName): Promise<Script | null> {
  const identity = await readFile(scriptUrl(name)).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return null;
    throw err;
  });
  if (identity === null) return null;
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity, { level: 9 })]);
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 12);
  return { hash, path: `/sdk/${name}.${hash}.js`, bodies: { br, gzip: gzipped, identity } };
}

/** The best encoding a client accepts; one refused by `q=0` is not used. */
export function encodingFor(acceptEncoding: string | undefined): Encoding {
  const accepted = (acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.trim());
  const takes = (name: string): boolean => accepted.some((part) => part.split(';')[0]?.trim() === name && !/;\s*q=0(\.0*)?$/.test(part));
  return takes('br') ? 'br' : takes('gzip') ? 'gzip' : 'identity';
}
