import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, checkServerIdentity, rootCertificates } from 'node:tls';
import { StartupError } from '../startup-error.ts';
import { placeOf } from './servers.ts';

/** TLS options of a connection. False disables TLS; undefined selects the pg default for URLs without `sslmode`. */
export type Tls = ConnectionOptions | false | undefined;

type Mode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full' | 'no-verify';

/** URL parameters that this module handles itself, because pg interprets them differently from libpq. */
const own = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'uselibpqcompat'];

/** Separates the TLS parameters from the rest of a server URL. */
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
 * Returns the TLS options to try for a server, in the order in which libpq tries them (PostgreSQL manual, chapter "SSL
 * Support" of libpq). Local sockets are not encrypted.
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
  // As in libpq, `require` verifies the server certificate if a root certificate is present.
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

/** Returns the path of a file in libpq's directory in the user's home, or undefined if the file does not exist. */
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

/**
 * TLS options of the last successful connection, by server URL. They are remembered because a single pg connection
 * cannot try several options.
 */
const working = new Map<string, Tls>();

/** Returns the TLS options that last worked for a server. If none have worked yet, returns the first options to try. */
export const tlsOf = (url: string): Tls => (working.has(url) ? working.get(url) : tlsAttempts(url)[0]);

export const rememberTls = (url: string, tls: Tls): void => void working.set(url, tls);

/** Whether an error is one after which libpq tries the other option for the `allow` or `prefer` mode. */
export const isAboutTls = (err: unknown): boolean =>
  err instanceof Error && (lacksTls(err) || (err as { code?: string }).code === '28000');

/** pg reports a server without TLS support by message only, without an error code. */
const lacksTls = ({ message }: Error): boolean => message.startsWith('The server does not support SSL');

/**
 * Describes an error about certificates or encryption.
 * @returns null for other errors
 */
export function tlsProblem(err: Error & { code?: string }): string | null {
  if (lacksTls(err))
    return 'the server does not support TLS, which sslmode requires. Enable it (ssl = on), or use sslmode=prefer';
  if (!/^(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(err.code ?? '')) return null;
  return `the server's certificate is not trusted: ${err.message}. Set sslrootcert to the authority that signed it`;
}
