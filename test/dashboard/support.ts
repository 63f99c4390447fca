import type { Response } from 'light-my-request';
import { startSession } from '../../src/dashboard/auth/sessions.ts';
import { csrfTokenOf } from '../../src/dashboard/auth/tokens.ts';
import { createUser, type Role } from '../../src/dashboard/auth/users.ts';
import type { TestApp } from '../support/test-app.ts';

export const origin = 'http://perks.test';

/** Somebody signed in, as a browser behaves: sends the cookie, the origin and, with every form, the form's token. */
export type Person = {
  userId: number;
  cookie: string;
  get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  post: (path: string, fields?: Record<string, string>) => Promise<Response>;
};

let people = 0;

/** Signs somebody in without a password, which takes a quarter of a second. */
export async function somebody(
  t: TestApp,
  role: Role,
  publisherId: number | null = role === 'operator' ? null : t.publisher.id,
): Promise<Person> {
  const email = `${role}-${++people}@example.com`;
  const user = await createUser(t.pool, {
    email,
    role,
    publisherId,
    passwordHash: 'scrypt$1$1$1$AA$AA',
    nowMs: t.deps.now(),
  });
  if (user === null) throw new Error('the address is taken');
  const token = await startSession(t.pool, user.id, null, t.deps.now());
  const cookie = `perkwire_session=${token}`;
  return {
    userId: user.id,
    cookie,
    get: (path, headers = {}) => t.app.inject({ url: path, headers: { cookie, ...headers } }),
    post: (path, fields = {}) => postForm(t, path, { _csrf: csrfTokenOf(token), ...fields }, { cookie }),
  };
}

/** A form as a browser sends it, with our own origin unless another is given. */
export const postForm = (
  t: TestApp,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> =>
  t.app.inject({
    method: 'POST',
    url: path,
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(fields).toString(),
  });

/** The cookie an answer sets, as a browser would send it back; null: none, or it ends one. */
export function cookieFrom(answer: Response, name: string): string | null {
  const found = answer.cookies.find((cookie) => cookie.name === name);
  return found === undefined || found.maxAge === 0 ? null : `${found.name}=${found.value}`;
}
