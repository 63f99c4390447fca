import type { FastifyReply, FastifyRequest } from 'fastify';
import { sessionMs } from '../auth/sessions.ts';

/** What a page says once after a redirect. */
export type Flash = { kind: 'done' | 'failed'; text: string };

export type Cookies = {
  session: (request: FastifyRequest) => string | null;
  setSession: (reply: FastifyReply, token: string) => void;
  endSession: (reply: FastifyReply) => void;
  setFlash: (reply: FastifyReply, flash: Flash) => void;
  /** The message left by the request before; it is gone then. */
  takeFlash: (request: FastifyRequest, reply: FastifyReply) => Flash | null;
};

const tokenPattern = /^[\w-]{43}$/;

/** Cookies of our own pages. With https their names begin with `__Host-`, so that no neighbouring host can set them. */
export function createCookies(publicUrl: string): Cookies {
  const secure = publicUrl.startsWith('https:');
  const prefix = secure ? '__Host-' : '';
  const sessionName = `${prefix}perkwire_session`;
  const flashName = `${prefix}perkwire_flash`;
  const set = (reply: FastifyReply, name: string, value: string, maxAgeS: number): void => {
    reply.header(
      'set-cookie',
      `${name}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
    );
  };
  return {
    session: (request) => {
      const value = cookieOf(request, sessionName);
      return value !== null && tokenPattern.test(value) ? value : null;
    },
    setSession: (reply, token) => set(reply, sessionName, token, sessionMs / 1000),
    endSession: (reply) => set(reply, sessionName, '', 0),
    setFlash: (reply, { kind, text }) =>
      set(reply, flashName, `${kind}.${Buffer.from(text.slice(0, 300)).toString('base64url')}`, 30),
    takeFlash: (request, reply) => {
      const match = /^(done|failed)\.([\w-]*)$/.exec(cookieOf(request, flashName) ?? '');
      if (match === null) return null;
      set(reply, flashName, '', 0);
      return { kind: match[1] as Flash['kind'], text: Buffer.from(match[2] ?? '', 'base64url').toString('utf8') };
    },
  };
}

function cookieOf(request: FastifyRequest, name: string): string | null {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const mark = part.indexOf('=');
    if (mark !== -1 && part.slice(0, mark).trim() === name) return part.slice(mark + 1).trim();
  }
  return null;
}
