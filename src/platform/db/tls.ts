import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, checkServerIdentity, rootCertificates } from 'node:tls';
import { StartupError } from '../startup-error.ts';
import { placeOf } from './servers.ts';

/** TLS options of a connection: false for none, undefined for pg's default without `sslmode`. */
export type Tls = ConnectionOptions | false | undefined;

type Mode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full' | 'no-verify';

/** Parameters handled by this module, because pg reads them differently from libpq. */
const own = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'uselibpqcompat'];

/** Splits the TLS parameters off the URL of a server. */
function split(url: string): { plain: string; params: Map<string, string> } {
  const [address = '', query = ''] = url.split(/\?(.*)/s);
  const pairs = query.split('&').filter((pair) => pair !== '');
  const nameOf = (pair: string): string => pair.split('=')[0] as string;
  const rest = pairs.filter((pair) => !own.includes(nameOf(pair)));
  const params = new URLSearchParams(pairs.filter((pair) => own.includes(nameOf(pair))).join('&'));
  return { plain: rest.length === 0 ? address : `${address}?${rest.join('&')}`, params: new Map(params) };
}

export const withoutTls = (url: string): string => split(url).plain;

/**
 * Ways to connect to a server, in the order in which libpq tries them (PostgreSQL manual, chapter "SSL Support" of
 * libpq). Local sockets are not encrypted.
 * @throws StartupError if a file cannot be read
 */
export function tlsAttempts(url: string): Tls[] {
  const { params } = split(url);
  const mode = params.get('sslmode') as Mode | undefined;
  if (mode === undefined) return [undefined];
  const place = placeOf(url);
  if (mode === 'disable' || place === '' || place.startsWith('/')) return [false];
  const encrypted = encryption(mode, params, place);
  if (mode === 'allow') return [false, encrypted];
  return mode === 'prefer' ? [encrypted, false] : [encrypted];
}

function encryption(mode: Mode, params: ReadonlyMap<string, string>, place: string): ConnectionOptions {
  const root = params.get('sslrootcert') ?? existing('root.crt');
  const certificate = params.get('sslcert') ?? existing('postgresql.crt');
  const key = params.get('sslkey') ?? existing('postgresql.key');
  const passphrase = params.get('sslpassword');
  const client = {
    ...(certificate !== undefined && { cert: read('sslcert', certificate) }),
    ...(key !== undefined && { key: read('sslkey', key) }),
    ...(passphrase !== undefined && { passphrase }),
  };
  // As in libpq, a root certificate makes `require` verify it.
  if (['no-verify', 'allow', 'prefer'].includes(mode) || (mode === 'require' && root === undefined))
    return { ...client, rejectUnauthorized: false };
  if (root === undefined)
    throw new StartupError(
      `DATABASE_URL: sslmode=${mode} requires the certificate of the authority that signed the server's certificate: ` +
        `sslrootcert=/path/ca.crt, or sslrootcert=system for a public authority.`,
    );
  const ca = root === 'system' ? [...rootCertificates] : read('sslrootcert', root);
  const checksName = mode === 'verify-full' || root === 'system';
  const host = place.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return {
    ...client,
    ca,
    checkServerIdentity: (_name, peer) => (checksName ? checkServerIdentity(host, peer) : undefined),
  };
}

/** Path of a file in libpq's user folder, if it exists. */
function existing(name: string): string | undefined {
  const path = join(homedir(), '.postgresql', name);
  return existsSync(path) ? path : undefined;
}

function read(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    throw new StartupError(`DATABASE_URL: the file of ${name}, ${path}, cannot be read (${code}).`);
  }
}

/** Options of the last successful connection, by the server's URL. A connection cannot try several ways itself. */
const working = new Map<string, Tls>();

/** TLS options for a server: those that worked last, else the first way. */
export const tlsOf = (url: string): Tls => (working.has(url) ? working.get(url) : tlsAttempts(url)[0]);

export const rememberTls = (url: string, tls: Tls): void => void working.set(url, tls);

/** Errors after which libpq tries the other way of `allow` and `prefer`. */
export const isAboutTls = (err: unknown): boolean =>
  err instanceof Error && (lacksTls(err) || (err as { code?: string }).code === '28000');

/** pg has no error code for a server that refuses TLS. */
const lacksTls = ({ message }: Error): boolean => message.startsWith('The server does not support SSL');

/**
 * Describes an error of certificates or encryption.
 * @returns null for other errors
 */
export function tlsProblem(err: Error & { code?: string }): string | null {
  if (lacksTls(err))
    return 'the server does not support TLS, which sslmode requires. Enable it (ssl = on), or use sslmode=prefer';
  if (!/^(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(err.code ?? '')) return null;
  return `the server's certificate is not trusted: ${err.message}. Set sslrootcert to the authority that signed it`;
}
