import { credentialsOf } from './credentials.ts';

/** An HTTP proxy that webhook calls go through, by CONNECT. */
export type HttpProxy = {
  host: string;
  port: number;
  secure: boolean;
  /** Value of `proxy-authorization`; null: none. */
  authorization: string | null;
};

/**
 * Reads WEBHOOK_PROXY: empty (no proxy), or `http://user:password@host:port`, also with https.
 * @param problems receives what is wrong, without the password
 */
export function parseHttpProxy(text: string, problems: string[]): HttpProxy | null {
  if (text === '') return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const credentials = url === null ? null : credentialsOf(url);
  const isProxy =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.hostname !== '' &&
    /^\/?$/.test(url.pathname) &&
    url.search === '';
  if (!isProxy || credentials === null) {
    problems.push('WEBHOOK_PROXY must look like http://proxy.example:3128, with or without user:password@');
    return null;
  }
  const secure = url.protocol === 'https:';
  const login = `${credentials.user}:${credentials.password}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (secure ? 443 : 80)),
    secure,
    authorization: login === ':' ? null : `Basic ${Buffer.from(login).toString('base64')}`,
  };
}
