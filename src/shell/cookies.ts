import cookiePlugin, { type CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../platform/http/app.ts';
import { minuteMs } from '../platform/lib/time.ts';
import { isToken } from '../platform/security/random-token.ts';

/** Timeout of the sign-in at the OpenID provider (milliseconds). */
export const pendingLifetimeMs = 15 * minuteMs;

/** Form that undoes an action: its URL and its fields. */
export type Undo = { to: string; values?: Readonly<Record<string, string | readonly string[]>> };

/** A message shown once after a redirect. */
export type Flash = { kind: 'done' | 'failed'; text: string; undo?: Undo };

export type Cookies = {
  session: (request: FastifyRequest) => string | null;
  setSession: (reply: FastifyReply, token: string) => void;
  endSession: (reply: FastifyReply) => void;
  setFlash: (reply: FastifyReply, flash: Flash) => void;
  /** Stores the state of a sign-in at the OpenID provider. */
  setPending: (reply: FastifyReply, value: string) => void;
  /** Reads and deletes that state. */
  takePending: (request: FastifyRequest, reply: FastifyReply) => string | null;
  /** Reads and deletes the message of the previous request. */
  takeFlash: (request: FastifyRequest, reply: FastifyReply) => Flash | null;
};

const flashLifetimeS = 30;
const pendingLifetimeS = pendingLifetimeMs / 1000;
const maxFlashLength = 300;
/** Maximum size of an undo's fields as JSON (bytes). A cookie can hold 4 KB; larger ones have no undo. */
const maxUndoBytes = 2000;

/**
 * Cookies of the dashboard. With https their names begin with `__Host-`, so that no other host of the domain can set
 * them.
 * @param sessionLifetimeMs how long a browser keeps the cookie of a session (milliseconds)
 */
export async function registerCookies(app: App, publicUrl: string, sessionLifetimeMs: number): Promise<Cookies> {
  await app.register(cookiePlugin);
  const secure = publicUrl.startsWith('https:');
  const prefix = secure ? '__Host-' : '';
  const sessionName = `${prefix}perkwire_session`;
  const flashName = `${prefix}perkwire_flash`;
  const pendingName = `${prefix}perkwire_oidc`;
  const attributes: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  return {
    session: ({ cookies }) => {
      const value = cookies[sessionName] ?? '';
      return isToken(value) ? value : null;
    },
    setSession: (reply, token) =>
      reply.setCookie(sessionName, token, { ...attributes, maxAge: sessionLifetimeMs / 1000 }),
    endSession: (reply) => reply.clearCookie(sessionName, attributes),
    setPending: (reply, value) => reply.setCookie(pendingName, value, { ...attributes, maxAge: pendingLifetimeS }),
    takePending: ({ cookies }, reply) => {
      reply.clearCookie(pendingName, attributes);
      return cookies[pendingName] ?? null;
    },
    setFlash: (reply, { kind, text, undo }) => {
      const fields = undo === undefined ? '' : JSON.stringify(undo);
      const parts = [text.slice(0, maxFlashLength), Buffer.byteLength(fields) > maxUndoBytes ? '' : fields];
      const value = [kind, ...parts.map((part) => Buffer.from(part).toString('base64url'))].join('.');
      reply.setCookie(flashName, value, { ...attributes, maxAge: flashLifetimeS });
    },
    takeFlash: ({ cookies }, reply) => {
      const match = /^(done|failed)\.([\w-]*)\.([\w-]*)$/.exec(cookies[flashName] ?? '');
      if (match === null) return null;
      reply.clearCookie(flashName, attributes);
      const [text = '', fields = ''] = match.slice(2).map((part) => Buffer.from(part, 'base64url').toString('utf8'));
      const undo = undoOf(fields);
      return { kind: match[1] as Flash['kind'], text, ...(undo !== null && { undo }) };
    },
  };
}

/** Parses an undo. Its path must be in the dashboard: a forged cookie must not submit forms elsewhere. */
function undoOf(text: string): Undo | null {
  if (text === '') return null;
  try {
    const { to, values } = JSON.parse(text) as Undo;
    return typeof to === 'string' && /^\/dashboard\/(?!.*\.\.)[\w/%.-]*$/.test(to)
      ? { to, values: values ?? {} }
      : null;
  } catch {
    return null;
  }
}
